"""The subscription of AKS clusters: access to clusters, and questions before `pulumi up` with answers."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field, RootModel

from dra_fleet.clouds.account import (
    ADOPTED,
    Answered,
    CloudQuestion,
    Exposed,
    Login,
    Lookup,
    Quota,
    account_question,
    address,
    administrators,
    allowed,
    check_offer,
    check_permissions,
    check_quota,
    check_reservation,
    options,
    version_question,
)
from dra_fleet.clouds.aks.plan import quota_family
from dra_fleet.core.findings.errors import PreflightFinding
from dra_fleet.model.settings import StackOutput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.clouds.aks.settings import AksClusterSettings, AksPoolSettings
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    Pools = Mapping[str, tuple[PoolPlan, AksPoolSettings]]


def exposure(settings: AksClusterSettings) -> Sequence[Exposed]:
    """Return the exposure of a cluster."""
    access = settings.access
    if access is None:
        return [ADOPTED]
    login = f"Entra ID by kubelogin ({access.login}); local accounts are off, no kubeconfig holds a secret"
    return [
        address(access.authorized_ranges, is_private=access.private),
        Exposed(subject="credentials", text=login),
        administrators(access.admin_groups, "has Azure's own cluster admin role"),
    ]


_JSON: Final = ("--output", "json")
_PERMISSIONS: Final = "providers/Microsoft.Authorization/permissions?api-version=2022-04-01"
_ROLE: Final = "Azure Kubernetes Service Contributor Role"
_WRITES: Final = (
    "Microsoft.ContainerService/managedClusters/write",
    "Microsoft.ContainerService/managedClusters/agentPools/write",
)
_MAKES_GROUP: Final = "Microsoft.Resources/subscriptions/resourceGroups/write"
_SPOT: Final = "lowPriorityCores"


class _User(Answered):
    name: str


class Account(Login):
    """The answer of `az account show`."""

    account: str = Field(alias="id")
    user: _User


class _Name(Answered):
    value: str


class _Usage(Answered):
    name: _Name
    current: int = Field(alias="currentValue")
    limit: int


class Usages(RootModel[tuple[_Usage, ...]]):
    """The answer of `az vm list-usage`."""


class _Where(Answered):
    zones: tuple[str, ...] | None = None


class _Restriction(Answered):
    type: str
    reason: str = Field(default="", alias="reasonCode")
    info: _Where = Field(default=_Where(), alias="restrictionInfo")


class _Sku(Answered):
    name: str
    family: str = ""
    places: tuple[_Where, ...] = Field(default=(), alias="locationInfo")
    restrictions: tuple[_Restriction, ...] = ()


class Skus(RootModel[tuple[_Sku, ...]]):
    """The answer of `az vm list-skus`."""


class _ReservedSku(Answered):
    name: str
    capacity: int


class _Reservation(Answered):
    sku: _ReservedSku
    zones: tuple[str, ...] | None = None


class Reservations(RootModel[tuple[_Reservation, ...]]):
    """The answer of `az capacity reservation list`."""


class Permissions(Answered):
    """The answer of Azure's list of permissions."""

    value: tuple[dict[str, Any], ...]


class _Version(Answered):
    version: str


class Versions(Answered):
    """The answer of `az aks get-versions`."""

    values: tuple[_Version, ...]

    def offered(self) -> list[str]:
        """Return the offered versions."""
        return [item.version for item in self.values]


def lookup(kind: str, inputs: Mapping[str, object], provider: Mapping[str, object]) -> Lookup | None:
    """Return the question for a cluster or node pool."""
    where = (*options(subscription=provider.get("subscriptionId")), *_JSON)
    match kind, inputs:
        case "azure-native:containerservice:ManagedCluster", {
            "resourceGroupName": str(group),
            "resourceName": str(name),
        }:
            command = ("az", "aks", "show", "--resource-group", group, "--name", name, *where)
        case "azure-native:containerservice:AgentPool", {
            "resourceGroupName": str(group),
            "resourceName": str(cluster),
            "agentPoolName": str(name),
        }:
            named = ("--resource-group", group, "--cluster-name", cluster, "--name", name)
            command = ("az", "aks", "nodepool", "show", *named, *where)
        case _:
            return None
    return Lookup(
        command=command,
        absent=("resourcenotfound", "resourcegroupnotfound", "(notfound)"),
        identifier=lambda shown: str(shown["id"]),
    )


def questions(settings: AksClusterSettings, cluster: ClusterPlan) -> Sequence[CloudQuestion]:
    """Return the questions for a cluster: first the login, then the subscription."""
    chosen = ("--subscription", settings.subscription) if settings.subscription else ()
    command = ("az", "account", "show", *chosen, *_JSON)
    return [account_question("Azure", None, command, Account, partial(_of_subscription, cluster, settings))]


def _of_subscription(
    cluster: ClusterPlan, settings: AksClusterSettings, login: Account
) -> list[CloudQuestion]:
    chosen = ("--subscription", login.account, *_JSON)
    pools = {pool.name: (pool, settings.pools[pool.name]) for pool in cluster.pools}
    region = settings.region
    asked = [
        CloudQuestion(
            subject="quota",
            about=f"the vCPU quotas in {region}",
            command=("az", "vm", "list-usage", "--location", region, *chosen),
            answer=Usages,
            check=partial(_quota, region=region, subscription=login.account, pools=pools),
        ),
        *(
            CloudQuestion(
                subject="machines",
                about=f"where {size} is offered",
                command=(
                    "az", "vm", "list-skus", "--location", region, "--size", size, "--all", *chosen,
                ),
                answer=Skus,
                check=partial(_offered, region=region, size=size, pools=pools),
            )
            for size in sorted({pool.machine.name for pool, _ in pools.values()})
        ),
        *(
            _reserved(name, pool, reservation)
            for name, (pool, shown) in pools.items()
            if (reservation := shown.capacity_reservation_group) is not None
        ),
        _permitted(settings, login),
    ]  # fmt: skip
    if settings.create is not None:
        command = ("az", "aks", "get-versions", "--location", region, *chosen)
        asked.append(version_question(cluster.kubernetes, region, command, Versions, Versions.offered))
    return asked


def _quota(shown: Usages, *, region: str, subscription: str, pools: Pools) -> Iterator[PreflightFinding]:
    requested: Counter[str] = Counter()
    for pool, own in pools.values():
        family = _SPOT if own.spot else quota_family(pool.machine.name)
        requested[family] += pool.machine.cpus * pool.max_nodes
    known = {usage.name.value.lower(): Quota(limit=usage.limit, used=usage.current) for usage in shown.root}
    for family, cpus in sorted(requested.items()):
        quota = known.get(family.lower())
        ask = (
            f"az quota update --resource-name {family} --scope /subscriptions/{subscription}/providers/"
            f"Microsoft.Compute/locations/{region} --limit-object "
            f"value={cpus + int(quota.used or 0 if quota else 0)} --resource-type dedicated"
        )
        yield check_quota(cpus, "vCPUs", family, region, quota=quota, ask=ask)


def _offered(shown: Skus, *, region: str, size: str, pools: Pools) -> Iterator[PreflightFinding]:
    other = f"az vm list-skus --location {region} --zone --resource-type virtualMachines --output table"
    sku = next((item for item in shown.root if item.name.lower() == size.lower()), _Sku(name=size))
    barred = next((item for item in sku.restrictions if item.type == "Location"), None)
    if barred is not None:
        message = f"{size} is closed to this subscription in {region} ({barred.reason})"
        fix = "az support in-subscription tickets create … asks to open it; or choose another size or region"
        yield PreflightFinding(level="problem", subject="machines", message=message, fix=fix)
        return
    closed = {zone for item in sku.restrictions if item.type == "Zone" for zone in item.info.zones or ()}
    zones = {zone for place in sku.places for zone in place.zones or ()} - closed
    requested = {name: own.zones for name, (pool, own) in pools.items() if pool.machine.name == size}
    if sku.places and not zones and not any(requested.values()):
        message = f"{size} is offered in {region}, but not in its availability zones"
        yield PreflightFinding(level="ok", subject="machines", message=message)
        return
    yield check_offer(size, region, requested, zones, other)


def _reserved(name: str, pool: PoolPlan, group: str) -> CloudQuestion:
    parts = group.split("/")
    place = dict(zip(parts[1::2], parts[2::2], strict=False))
    named = (
        "--capacity-reservation-group", parts[-1],
        "--resource-group", place.get("resourceGroups", ""),
        "--subscription", place.get("subscriptions", ""),
    )  # fmt: skip
    size, most = pool.machine.name, pool.max_nodes
    ask = f"az capacity reservation create --name {size} --sku {size} --capacity {most} {' '.join(named)}"

    def check(shown: Reservations) -> Iterator[PreflightFinding]:
        kept = sum(item.sku.capacity for item in shown.root if item.sku.name == size)
        yield check_reservation(name, parts[-1], size, kept=kept, most=most, ask=ask)

    return CloudQuestion(
        subject="reservation",
        about=f"the reservation {parts[-1]} of pool {name}",
        command=("az", "capacity", "reservation", "list", *named, *_JSON),
        answer=Reservations,
        check=check,
    )


def _permitted(settings: AksClusterSettings, login: Account) -> CloudQuestion:
    scope = f"/subscriptions/{login.account}"
    requested = _WRITES if settings.create is None else (_MAKES_GROUP, *_WRITES)
    group = None if settings.adopt is None else settings.adopt.resource_group
    if isinstance(group, str):
        scope = f"{scope}/resourceGroups/{group}"

    def check(shown: Permissions) -> Iterator[PreflightFinding]:
        def ask(action: str) -> str:
            role = "Contributor" if action == _MAKES_GROUP else _ROLE
            return f'az role assignment create --assignee {login.user.name} --role "{role}" --scope {scope}'

        missing = {action: ask(action) for action in requested if not allowed(action, shown.value)}
        if isinstance(group, StackOutput):
            # Who may not in the whole subscription may in that group.
            why = f"its resource group is {group}, which only the engine reads"
            yield from check_permissions({}, dict.fromkeys(missing, why), scope)
            return
        yield from check_permissions(missing, {}, scope)

    return CloudQuestion(
        subject="permissions",
        about="what this login may do",
        command=(
            "az", "rest", "--method", "get", "--url",
            f"https://management.azure.com{scope}/{_PERMISSIONS}",
        ),
        answer=Permissions,
        check=check,
    )  # fmt: skip
