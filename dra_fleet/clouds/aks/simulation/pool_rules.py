"""Rules of AKS for new and changed agent pools, beyond the shape of their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from dra_fleet.clouds.aks.plan import partitions_of
from dra_fleet.clouds.aks.plan import quota_family as family
from dra_fleet.clouds.aks.simulation.account import refuse
from dra_fleet.clouds.aks.simulation.pool_nodes import (
    RESERVED,
    count_of,
    is_spot,
    parse_taint,
    size_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.clouds.aks.simulation.account import AksLimits
    from dra_fleet.rehearsal.clouds.cloud import Properties

MOST_NODES: Final = 1000


def refuse_invalid(name: str, pool: Properties) -> None:
    """Check one pool by itself.

    Raises:
        CloudRefusal: AKS does not take it.
    """
    size = size_of(pool)
    system = str(pool.get("mode", "User")).lower() == "system"
    least = 1 if system else 0
    count = count_of(pool)
    if not least <= count <= MOST_NODES:
        mode = "system" if system else "user"
        raise _invalid(name, f"count is {count}; it must be {least} to {MOST_NODES} in a {mode} pool")
    _refuse_scaling(name, pool, count)
    if system and is_spot(pool):
        raise _invalid(name, "a system pool cannot be a spot pool; set scaleSetPriority to Regular")
    profile = pool.get("gpuInstanceProfile")
    if profile and not partitions_of(size.gpu, str(profile)):
        raise _invalid(
            name,
            f"gpuInstanceProfile {profile} is not supported with VM size {size.name}; "
            "leave it out, or use an A100, H100 or H200 size",
        )
    for label in cast("dict[str, str]", pool.get("nodeLabels") or {}):
        if label.startswith(RESERVED):
            raise _invalid(
                name, f"label {label} is reserved: {RESERVED} belongs to AKS; choose another prefix"
            )
    for taint in cast("list[str]", pool.get("nodeTaints") or []):
        parse_taint(taint)


def refuse_other_network(pools: Iterable[Properties]) -> None:
    """Check that all pools of a cluster, or none, are in subnets, and those of one virtual network.

    Raises:
        CloudRefusal: AKS does not take it: https://github.com/Azure/AKS/issues/2927 (2022-05-04) and
            https://learn.microsoft.com/azure/aks/node-pool-unique-subnet#limitations (2026-11-25).
    """
    subnets = {str(pool.get("name")): str(pool.get("vnetSubnetID") or "") for pool in pools}
    without = [name for name, subnet in subnets.items() if not subnet]
    if without and len(without) < len(subnets):
        raise refuse("InvalidParameter", f"The Agentpool {without[0]} does not have subnet defined.")
    networks = {subnet.rpartition("/subnets/")[0].lower() for subnet in subnets.values()}
    if len(networks) > 1:
        raise refuse(
            "InvalidParameter", "All subnets of a cluster's agent pools must be in one virtual network."
        )


def _refuse_scaling(name: str, pool: Properties, count: int) -> None:
    low, high = pool.get("minCount"), pool.get("maxCount")
    if not pool.get("enableAutoScaling"):
        if low is not None or high is not None:
            raise _invalid(
                name, "minCount and maxCount need enableAutoScaling; set it to true or leave them out"
            )
        return
    if low is None or high is None:
        raise _invalid(name, "enableAutoScaling needs minCount and maxCount")
    if not low <= count <= high:
        raise _invalid(name, f"count {count} is not between minCount {low} and maxCount {high}")


def _invalid(name: str, what: str) -> Exception:
    return refuse("InvalidParameter", f"Agent pool {name}: {what}")


def refuse_beyond_limits(
    pool: Properties, others: Iterable[Properties], region: str, limits: AksLimits, *, had: int = 0
) -> None:
    """Check a pool against the subscription's quota and the region's stock.

    Args:
        pool: the pool as it shall be.
        others: all other pools of the subscription.
        region: where it is.
        limits: of the rehearsal.
        had: how many of its machines the pool has already.

    Raises:
        CloudRefusal: with AKS's own words.
    """
    size = size_of(pool)
    more = count_of(pool) - had
    if more <= 0:
        return
    group = family(size.name)
    quota = limits.quota(group)
    if quota is not None:
        alike = [one for one in others if family(str(one["vmSize"])) == group]
        used = sum(size_of(one).cpus * count_of(one) for one in alike)
        remaining = quota - used - had * size.cpus
        if more * size.cpus > remaining:
            raise refuse(
                "ErrCode_InsufficientVCPUQuota",
                f"Insufficient vcpu quota requested {more * size.cpus}, remaining {max(remaining, 0)} "
                f"for family {group} for region {region}. Ask for more quota, or for fewer machines",
            )
    if limits.is_out_of_stock(size.name):
        raise refuse(
            "AllocationFailed",
            f"Allocation failed. We do not have sufficient capacity for the requested VM size {size.name} in "
            f"region {region}. Try later, or another size, zone or region: https://aka.ms/allocation-guidance",
        )
