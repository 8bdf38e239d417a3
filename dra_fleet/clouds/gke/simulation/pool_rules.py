"""Rules of GKE for new and changed node pools, beyond the shape of their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from dra_fleet.clouds.gke.resources import chips_of
from dra_fleet.clouds.gke.simulation.account import metric, refuse, region_of, zones_of
from dra_fleet.clouds.gke.simulation.pool_nodes import accelerator_of, config_of, count_of, machine_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.clouds.gke.simulation.account import GkeLimits
    from dra_fleet.rehearsal.clouds.cloud import Properties

MOST_PER_ZONE: Final = 1000
RESERVED: Final = ("kubernetes.io/", "k8s.io/")
_COMPACT_WITH_FLEX: Final = ("a3-ultragpu", "a4", "h4d")


def refuse_invalid(pool: Properties, cluster: Properties) -> None:
    """Check one pool by itself.

    Raises:
        CloudRefusal: GKE does not take it.
    """
    machine_of(pool)
    name = str(pool["name"])
    _refuse_counts(name, pool)
    _refuse_zones(name, pool, cluster)
    labels = cast("dict[str, str]", config_of(pool).get("labels") or {})
    for label in labels:
        if label.partition("/")[0] in ("kubernetes.io", "k8s.io") or ".kubernetes.io/" in label:
            raise _invalid(name, f"label {label} is reserved for Kubernetes; choose another prefix")
    _refuse_capacity(name, pool)
    _refuse_upgrades(name, pool, cluster)


def _refuse_counts(name: str, pool: Properties) -> None:
    scaling = cast("Properties", pool.get("autoscaling") or {})
    totals = {"totalMinNodeCount", "totalMaxNodeCount"} & scaling.keys()
    per_zone = {"minNodeCount", "maxNodeCount"} & scaling.keys()
    if totals and per_zone:
        raise _invalid(name, f"{min(totals)} and {min(per_zone)} cannot be used together")
    low, high = scaling.get("totalMinNodeCount", 0), scaling.get("totalMaxNodeCount")
    if high is not None and low > high:
        raise _invalid(name, f"totalMinNodeCount {low} is more than totalMaxNodeCount {high}")
    each = int(pool.get("nodeCount", pool.get("initialNodeCount", 0)) or 0)
    if not 0 <= each <= MOST_PER_ZONE:
        raise _invalid(name, f"{each} nodes per zone; it must be 0 to {MOST_PER_ZONE}")


def _refuse_zones(name: str, pool: Properties, cluster: Properties) -> None:
    region = region_of(str(cluster["location"]))
    for zone in zones_of(pool, cluster):
        if region_of(zone) != region:
            raise _invalid(name, f"zone {zone} is not in the cluster's region {region}")


def _refuse_capacity(name: str, pool: Properties) -> None:
    """Spot, reservations, Dynamic Workload Scheduler and compact placement exclude each other in part."""
    config = config_of(pool)
    spot, flex = bool(config.get("spot")), bool(config.get("flexStart"))
    queued = bool(cast("Properties", pool.get("queuedProvisioning") or {}).get("enabled"))
    affinity = cast("Properties", config.get("reservationAffinity") or {})
    consume = affinity.get("consumeReservationType")
    compact = cast("Properties", pool.get("placementPolicy") or {}).get("type") == "COMPACT"
    if (spot or flex or queued) and consume not in (None, "NO_RESERVATION"):
        raise _invalid(name, f"reservation affinity {consume} cannot be used here; use NO_RESERVATION")
    if spot and (flex or queued):
        raise _invalid(name, "spot cannot be combined with flex-start or queued provisioning")
    if flex and cast("Properties", pool.get("management") or {}).get("autoRepair"):
        raise _invalid(name, "flex-start needs management.autoRepair false")
    if flex and compact and not str(config.get("machineType")).startswith(_COMPACT_WITH_FLEX):
        raise _invalid(name, "flex-start allows compact placement only with A3 Ultra, A4 and H4D")
    machine = machine_of(pool).machine
    if queued and compact and chips_of(machine) is None:
        raise _invalid(name, "queued provisioning cannot be combined with compact placement")
    if compact and len(cast("list[str]", pool.get("nodeLocations") or [])) > 1:
        raise _invalid(name, "compact placement needs exactly one zone")
    if consume == "SPECIFIC_RESERVATION" and not (affinity.get("key") and affinity.get("values")):
        raise _invalid(
            name, "SPECIFIC_RESERVATION needs key compute.googleapis.com/reservation-name and values"
        )


def _refuse_upgrades(name: str, pool: Properties, cluster: Properties) -> None:
    channel = cast("Properties", cluster.get("releaseChannel") or {}).get("channel", "REGULAR")
    management = cast("Properties", pool.get("management") or {})
    if channel != "UNSPECIFIED" and management.get("autoUpgrade") is False:
        raise _invalid(name, f"Auto_upgrade must be true when release_channel {channel} is set")


def _invalid(name: str, what: str) -> Exception:
    return refuse("INVALID_ARGUMENT", f"Node pool {name}: {what}")


def refuse_beyond_limits(
    pool: Properties,
    cluster: Properties,
    others: Iterable[tuple[Properties, Properties]],
    limits: GkeLimits,
    *,
    had: int = 0,
) -> None:
    """Check a pool against the project's quota and the zones' stock.

    Args:
        pool: the pool as it shall be.
        cluster: its cluster.
        others: all other pools of the project, with their clusters.
        limits: of the rehearsal.
        had: how many of its machines the pool has already.

    Raises:
        CloudRefusal: with Google's own words.
    """
    more = count_of(pool, cluster) - had
    if more <= 0:
        return
    kind, each = _accelerators(pool)
    quota = limits.quota(kind) if kind else None
    if kind and quota is not None:
        used = in_use(kind, others)
        if used + (had + more) * each > quota:
            region = region_of(str(cluster["location"]))
            raise refuse(
                "RESOURCE_EXHAUSTED",
                f"Insufficient quota to satisfy the request: quota {metric(kind)} exceeded, "
                f"limit {quota} in region {region}, in use {used + had * each}, requested {more * each}. "
                "Ask for more quota, or for fewer nodes",
            )
    machine = str(config_of(pool).get("machineType"))
    for zone in zones_of(pool, cluster):
        if {zone, machine} & set(limits.stock_outs):
            raise refuse(
                "RESOURCE_EXHAUSTED",
                f"ZONE_RESOURCE_POOL_EXHAUSTED: The zone '{zone}' does not have enough resources available "
                f"to fulfill the request for {machine}. Try later, another zone, or a reservation",
            )


def in_use(kind: str, pools: Iterable[tuple[Properties, Properties]]) -> int:
    """Return the number of accelerators of a type in pools.

    Args:
        kind: such as "nvidia-l4".
        pools: with their clusters.
    """
    return sum(
        _accelerators(pool)[1] * count_of(pool, cluster)
        for pool, cluster in pools
        if _accelerators(pool)[0] == kind
    )


def _accelerators(pool: Properties) -> tuple[str, int]:
    """Return the accelerator of a pool's nodes and its number per node; empty without accelerators."""
    given = accelerator_of(pool)
    if given:
        return str(given["type"]), int(given["count"])
    chips = chips_of(machine_of(pool).machine)
    return (chips.called, chips.count) if chips else ("", 0)
