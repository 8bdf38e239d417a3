"""What an Azure subscription is asked before `pulumi up`: quota, sizes in zones, reservations, permissions.

Sources: https://learn.microsoft.com/cli/azure/vm (list-usage, list-skus),
https://learn.microsoft.com/cli/azure/capacity/reservation and
https://learn.microsoft.com/rest/api/authorization/permissions/list-for-resource-group.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, RootModel

from dra_fleet.clouds.aks.names import quota_family
from dra_fleet.clouds.questions import CloudQuestion, allowed
from dra_fleet.findings.preflight import PreflightFinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.clouds.aks.settings import AksClusterSettings, AksPoolSettings
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

_JSON: Final = ("--output", "json")
_PERMISSIONS: Final = "providers/Microsoft.Authorization/permissions?api-version=2022-04-01"
_ROLE: Final = "Azure Kubernetes Service Contributor Role"
_WRITES: Final = (
    "Microsoft.ContainerService/managedClusters/write",
    "Microsoft.ContainerService/managedClusters/agentPools/write",
)
_MAKES_GROUP: Final = "Microsoft.Resources/subscriptions/resourceGroups/write"
_SPOT: Final = "lowPriorityCores"


class _Answered(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Name(_Answered):
    value: str


class _Usage(_Answered):
    name: _Name
    current: int = Field(alias="currentValue")
    limit: int


class Usages(RootModel[tuple[_Usage, ...]]):
    """The answer of `az vm list-usage`."""


class _Where(_Answered):
    zones: tuple[str, ...] | None = None


class _Restriction(_Answered):
    type: str
    reason: str = Field(default="", alias="reasonCode")
    info: _Where = Field(default=_Where(), alias="restrictionInfo")


class _Sku(_Answered):
    name: str
    family: str = ""
    places: tuple[_Where, ...] = Field(default=(), alias="locationInfo")
    restrictions: tuple[_Restriction, ...] = ()


class Skus(RootModel[tuple[_Sku, ...]]):
    """The answer of `az vm list-skus`."""


class _ReservedSku(_Answered):
    name: str
    capacity: int


class _Reservation(_Answered):
    sku: _ReservedSku
    zones: tuple[str, ...] | None = None


class Reservations(RootModel[tuple[_Reservation, ...]]):
    """The answer of `az capacity reservation list`."""


class Permissions(_Answered):
    """The answer of Azure's list of permissions."""

    value: tuple[dict[str, Any], ...]


def questions(cluster: ClusterPlan) -> Sequence[CloudQuestion]:
    """What the subscription is asked for a cluster."""
    settings = cast("AksClusterSettings", cluster.settings)
    chosen = ("--subscription", settings.subscription) if settings.subscription else ()
    pools = {pool.name: (pool, settings.pools[pool.name]) for pool in cluster.pools}
    sizes = sorted({pool.machine.name for pool, _ in pools.values()})
    group = settings.create or settings.adopt
    return [
        CloudQuestion(
            subject="quota",
            about=f"the vCPU quotas in {settings.region}",
            command=("az", "vm", "list-usage", "--location", settings.region, *chosen, *_JSON),
            answer=Usages,
            judge=partial(_quota, settings=settings, pools=pools),
        ),
        *(
            CloudQuestion(
                subject="machines",
                about=f"where {size} is offered",
                command=(
                    "az", "vm", "list-skus", "--location", settings.region, "--size", size, "--all",
                    *chosen, *_JSON,
                ),
                answer=Skus,
                judge=partial(_offered, settings=settings, size=size, pools=pools),
            )
            for size in sizes
        ),
        *(
            _reserved(name, pool, reservation)
            for name, (pool, told) in pools.items()
            if (reservation := told.capacity_reservation_group) is not None
        ),
        _permitted(settings, group.resource_group if group is not None else ""),
    ]  # fmt: skip


def _quota(
    told: Usages, *, settings: AksClusterSettings, pools: Mapping[str, tuple[PoolPlan, AksPoolSettings]]
) -> Iterator[PreflightFinding]:
    wanted: Counter[str] = Counter()
    for pool, own in pools.values():
        family = _SPOT if own.spot else quota_family(pool.machine.name)
        wanted[family] += pool.machine.cpus * pool.max_nodes
    known = {usage.name.value.lower(): usage for usage in told.root}
    for family, cpus in sorted(wanted.items()):
        usage = known.get(family.lower())
        ask = (
            f"az quota update --resource-name {family} --scope /subscriptions/"
            f"{settings.subscription or 'SUBSCRIPTION'}/providers/Microsoft.Compute/locations/"
            f"{settings.region} --limit-object value={cpus + (usage.current if usage else 0)} "
            "--resource-type dedicated"
        )
        if usage is None:
            message = (
                f"Azure tells no quota of {family} in {settings.region}; the pools take {cpus} vCPUs at max"
            )
            yield PreflightFinding(level="warning", subject="quota", message=message, fix=ask)
            continue
        at_max = (
            f"the pools take {cpus} vCPUs of {family} at max; the quota in {settings.region} is {usage.limit}"
        )
        if usage.limit < cpus:
            yield PreflightFinding(level="problem", subject="quota", message=at_max, fix=ask)
        elif usage.limit - usage.current < cpus:
            message = f"{at_max}, of which {usage.current} are in use, unless that is by these pools"
            yield PreflightFinding(level="warning", subject="quota", message=message, fix=ask)
        else:
            yield PreflightFinding(level="ok", subject="quota", message=at_max)


def _offered(
    told: Skus,
    *,
    settings: AksClusterSettings,
    size: str,
    pools: Mapping[str, tuple[PoolPlan, AksPoolSettings]],
) -> Iterator[PreflightFinding]:
    other = (
        f"az vm list-skus --location {settings.region} --zone --resource-type virtualMachines --output table"
    )
    sku = next((item for item in told.root if item.name.lower() == size.lower()), None)
    if sku is None:
        message = f"{size} is not offered in {settings.region}"
        yield PreflightFinding(level="problem", subject="machines", message=message, fix=other)
        return
    barred = next((item for item in sku.restrictions if item.type == "Location"), None)
    if barred is not None:
        message = f"{size} is closed to this subscription in {settings.region} ({barred.reason})"
        fix = "az support in-subscription tickets create … asks to open it; or choose another size or region"
        yield PreflightFinding(level="problem", subject="machines", message=message, fix=fix)
        return
    closed = {zone for item in sku.restrictions if item.type == "Zone" for zone in item.info.zones or ()}
    zones = {zone for place in sku.places for zone in place.zones or ()} - closed
    for name, (pool, own) in pools.items():
        missing = sorted(set(own.zones) - zones) if pool.machine.name == size else []
        if missing:
            message = f"pool {name}: {size} is not offered in zone {', '.join(missing)} of {settings.region}"
            fix = f"zones: [{', '.join(sorted(zones))}]" if zones else "remove zones; no zone has it"
            yield PreflightFinding(level="problem", subject="machines", message=message, fix=fix)
            return
    message = f"{size} is offered in {settings.region}"
    yield PreflightFinding(level="ok", subject="machines", message=message)


def _reserved(name: str, pool: PoolPlan, group: str) -> CloudQuestion:
    parts = group.split("/")
    place = dict(zip(parts[1::2], parts[2::2], strict=False))
    named = (
        "--capacity-reservation-group", parts[-1],
        "--resource-group", place.get("resourceGroups", ""),
        "--subscription", place.get("subscriptions", ""),
    )  # fmt: skip

    def judge(told: Reservations) -> Iterator[PreflightFinding]:
        kept = sum(item.sku.capacity for item in told.root if item.sku.name == pool.machine.name)
        message = (
            f"pool {name}: {parts[-1]} reserves {kept} of {pool.machine.name}; "
            f"it takes {pool.max_nodes} at max"
        )
        fix = (
            f"az capacity reservation create --name {pool.machine.name} --sku {pool.machine.name} "
            f"--capacity {pool.max_nodes} {' '.join(named)}"
        )
        enough = kept >= pool.max_nodes
        yield PreflightFinding(
            level="ok" if enough else "problem",
            subject="reservation",
            message=message,
            fix="" if enough else fix,
        )

    return CloudQuestion(
        subject="reservation",
        about=f"the reservation {parts[-1]} of pool {name}",
        command=("az", "capacity", "reservation", "list", *named, *_JSON),
        answer=Reservations,
        judge=judge,
    )


def _permitted(settings: AksClusterSettings, group: str) -> CloudQuestion:
    # Azure's command line fills the subscription of whoever is logged in into these braces.
    scope = f"/subscriptions/{settings.subscription or '{subscriptionId}'}"
    wanted = _WRITES if settings.create is None else (_MAKES_GROUP, *_WRITES)
    if settings.create is None:
        scope = f"{scope}/resourceGroups/{group}"

    def judge(told: Permissions) -> Iterator[PreflightFinding]:
        missing = [action for action in wanted if not allowed(action, told.value)]
        for action in missing:
            role = "Contributor" if action == _MAKES_GROUP else _ROLE
            yield PreflightFinding(
                level="problem",
                subject="permissions",
                message=f"this login may not {action}",
                fix=f'az role assignment create --assignee LOGIN --role "{role}" --scope {scope}',
            )
        if not missing:
            message = f"this login may make what the stack asks of {scope}"
            yield PreflightFinding(level="ok", subject="permissions", message=message)

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
