"""Where a rehearsed stack stands: per cluster its pools and workloads, and why one waits."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx2
from typing_extensions import TypedDict

from dra_fleet.clusters.allocation import (
    Allocation,
    AllocationJson,
    WorkloadAllocation,
    allocation_json,
    read_allocation,
)
from dra_fleet.rehearsal.access import NothingRunsError, connect, simulated_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.model.plan import ClusterPlan, FleetPlan
    from dra_fleet.rehearsal.home import Home


class ClusterJson(AllocationJson):
    """One cluster: the version it reports, and what its pools and workloads hold."""

    kubernetes: str


class StatusJson(TypedDict):
    """Whether all copies hold their devices at this moment, and each cluster by name."""

    all_allocated: bool
    clusters: dict[str, ClusterJson]


@dataclass(frozen=True, kw_only=True)
class ClusterStatus:
    """One cluster: the version it reports, and what it holds."""

    kubernetes: str
    allocation: Allocation


@dataclass(frozen=True, kw_only=True)
class StackStatus:
    """All clusters of a stack, by name."""

    clusters: Mapping[str, ClusterStatus]

    @property
    def workloads(self) -> list[WorkloadAllocation]:
        """Every workload of every cluster."""
        return [item for cluster in self.clusters.values() for item in cluster.allocation.workloads.values()]

    @property
    def allocated(self) -> int:
        """Copies that run with their devices at this moment."""
        return sum(item.allocated for item in self.workloads)

    @property
    def wanted(self) -> int:
        """Copies that should."""
        return sum(item.wanted for item in self.workloads)

    @property
    def all_allocated(self) -> bool:
        """Whether every workload's copies all hold their devices at the same moment."""
        return all(cluster.allocation.complete for cluster in self.clusters.values())

    def as_json(self) -> StatusJson:
        """The documented shape of `rehearse status --json`."""
        return {
            "all_allocated": self.all_allocated,
            "clusters": {name: _cluster_json(cluster) for name, cluster in self.clusters.items()},
        }


async def read_status(plan: FleetPlan, home: Home) -> StackStatus:
    """Read every cluster of a plan at about the same moment.

    Raises:
        NothingRunsError: a cluster does not answer.
    """
    found = await asyncio.gather(*(_read_cluster(cluster, home) for cluster in plan.clusters))
    names = [cluster.name for cluster in plan.clusters]
    return StackStatus(clusters=dict(zip(names, found, strict=True)))


async def _read_cluster(cluster: ClusterPlan, home: Home) -> ClusterStatus:
    try:
        async with connect(home, simulated_name(cluster)) as api:
            version, allocation = await asyncio.gather(
                api.version(),
                read_allocation(
                    api,
                    pools={pool.name: pool.labels for pool in cluster.pools},
                    workloads={item.name: (item.namespace, item.copies) for item in cluster.workloads},
                ),
            )
    except httpx2.TransportError as error:
        raise NothingRunsError(
            f"cluster {cluster.name} does not answer ({error}); start it with `dra-fleet rehearse up`"
        ) from error
    return ClusterStatus(kubernetes=version["gitVersion"], allocation=allocation)


def devices_by_node(workload: WorkloadAllocation) -> dict[str, list[str]]:
    """The devices a workload holds, per node, in order."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for pod in workload.pods:
        found[pod.node or "no node"] += [item.device for item in pod.devices]
    return {node: sorted(devices) for node, devices in sorted(found.items()) if devices}


def _cluster_json(cluster: ClusterStatus) -> ClusterJson:
    return {"kubernetes": cluster.kubernetes, **allocation_json(cluster.allocation)}
