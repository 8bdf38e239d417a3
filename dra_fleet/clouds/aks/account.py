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
    Quota,
    account_question,
    address,
    administrators,
    allowed,
    judge_offer,
    judge_permissions,
    judge_quota,
    judge_reservation,
    version_question,
)
from dra_fleet.clouds.aks.plan import quota_family
from dra_fleet.core.findings.reported import PreflightFinding
from dra_fleet.model.settings import StackOutput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.clouds.aks.settings import AksClusterSettings, AksPoolSettings
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    Pools = Mapping[str, tuple[PoolPlan, AksPoolSettings]]


def exposure(settings: AksClusterSettings) -> Sequence[Exposed]:
    """What is told of a cluster's access."""
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
        """The versions."""
        return [item.version for item in self.values]


def questions(settings: AksClusterSettings, cluster: ClusterPlan) -> Sequence[CloudQuestion]:
    """What is asked for a cluster: first whose login this is, then the subscription."""
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
            judge=partial(_quota, region=region, subscription=login.account, pools=pools),
        ),
        *(
            CloudQuestion(
                subject="machines",
                about=f"where {size} is offered",
                command=(
                    "az", "vm", "list-skus", "--location", region, "--size", size, "--all", *chosen,
                ),
                answer=Skus,
                judge=partial(_offered, region=region, size=size, pools=pools),
            )
            for size in sorted({pool.machine.name for pool, _ in pools.values()})
        ),
        *(
            _reserved(name, pool, reservation)
            for name, (pool, told) in pools.items()
            if (reservation := told.capacity_reservation_group) is not None
        ),
        _permitted(settings, login),
    ]  # fmt: skip
    if settings.create is not None:
        command = ("az", "aks", "get-versions", "--location", region, *chosen)
        asked.append(version_question(cluster.kubernetes, region, command, Versions, Versions.offered))
    return asked


def _quota(told: Usages, *, region: str, subscription: str, pools: Pools) -> Iterator[PreflightFinding]:
    wanted: Counter[str] = Counter()
    for pool, own in pools.values():
        family = _SPOT if own.spot else quota_family(pool.machine.name)
        wanted[family] += pool.machine.cpus * pool.max_nodes
    known = {usage.name.value.lower(): Quota(limit=usage.limit, used=usage.current) for usage in told.root}
    for family, cpus in sorted(wanted.items()):
        quota = known.get(family.lower())
        ask = (
            f"az quota update --resource-name {family} --scope /subscriptions/{subscription}/providers/"
            f"Microsoft.Compute/locations/{region} --limit-object "
            f"value={cpus + int(quota.used or 0 if quota else 0)} --resource-type dedicated"
        )
        yield judge_quota(cpus, "vCPUs", family, region, quota=quota, ask=ask)


def _offered(told: Skus, *, region: str, size: str, pools: Pools) -> Iterator[PreflightFinding]:
    other = f"az vm list-skus --location {region} --zone --resource-type virtualMachines --output table"
    sku = next((item for item in told.root if item.name.lower() == size.lower()), _Sku(name=size))
    barred = next((item for item in sku.restrictions if item.type == "Location"), None)
    if barred is not None:
        message = f"{size} is closed to this subscription in {region} ({barred.reason})"
        fix = "az support in-subscription tickets create … asks to open it; or choose another size or region"
        yield PreflightFinding(level="problem", subject="machines", message=message, fix=fix)
        return
    closed = {zone for item in sku.restrictions if item.type == "Zone" for zone in item.info.zones or ()}
    zones = {zone for place in sku.places for zone in place.zones or ()} - closed
    wanted = {name: own.zones for name, (pool, own) in pools.items() if pool.machine.name == size}
    if sku.places and not zones and not any(wanted.values()):
        message = f"{size} is offered in {region}, in no zone of its own"
        yield PreflightFinding(level="ok", subject="machines", message=message)
        return
    yield judge_offer(size, region, wanted, zones, other)


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

    def judge(told: Reservations) -> Iterator[PreflightFinding]:
        kept = sum(item.sku.capacity for item in told.root if item.sku.name == size)
        yield judge_reservation(name, parts[-1], size, kept=kept, most=most, ask=ask)

    return CloudQuestion(
        subject="reservation",
        about=f"the reservation {parts[-1]} of pool {name}",
        command=("az", "capacity", "reservation", "list", *named, *_JSON),
        answer=Reservations,
        judge=judge,
    )


def _permitted(settings: AksClusterSettings, login: Account) -> CloudQuestion:
    scope = f"/subscriptions/{login.account}"
    wanted = _WRITES if settings.create is None else (_MAKES_GROUP, *_WRITES)
    group = None if settings.adopt is None else settings.adopt.resource_group
    if isinstance(group, str):
        scope = f"{scope}/resourceGroups/{group}"

    def judge(told: Permissions) -> Iterator[PreflightFinding]:
        def ask(action: str) -> str:
            role = "Contributor" if action == _MAKES_GROUP else _ROLE
            return f'az role assignment create --assignee {login.user.name} --role "{role}" --scope {scope}'

        missing = {action: ask(action) for action in wanted if not allowed(action, told.value)}
        if isinstance(group, StackOutput):
            # Who may not in the whole subscription may in that group.
            why = f"its resource group is {group}, which only the engine reads"
            yield from judge_permissions({}, dict.fromkeys(missing, why), scope)
            return
        yield from judge_permissions(missing, {}, scope)

    return CloudQuestion(
        subject="permissions",
        about="what this login may do",
        command=(
            "az", "rest", "--method", "get", "--url",
            f"https://management.azure.com{scope}/{_PERMISSIONS}",
        ),
        answer=Permissions,
        judge=judge,
    )  # fmt: skip
