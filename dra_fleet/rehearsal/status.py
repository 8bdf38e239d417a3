"""State of a rehearsed stack: pools and workloads per cluster, and the reason why one waits."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import httpx2
from msgspec import Struct
from typing_extensions import TypedDict

from dra_fleet.clusters.allocation import (
    WORKLOAD,
    AllocationJson,
    ClusterAllocation,
    WorkloadAllocation,
    allocation_json,
    allocation_of,
)
from dra_fleet.clusters.client import ANSWER_WITHIN, without_collections
from dra_fleet.clusters.pending import read_state
from dra_fleet.clusters.pending.explain import explain, pod_trouble
from dra_fleet.proof.answer.admission import admissions
from dra_fleet.rehearsal.access import NothingRunsError, connect, simulated_name
from dra_fleet.rehearsal.agent.driver_pod import REFUSED, is_ready
from dra_fleet.rehearsal.drivers import plugins_of
from dra_fleet.rehearsal.errors import RehearsalError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterator, Mapping

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.clusters.pending.state import ClusterState
    from dra_fleet.model.plan import ClusterPlan, FleetPlan
    from dra_fleet.rehearsal.home import Home


class BusyError(RehearsalError):
    """A cluster takes longer than a request may."""


class ClusterJson(AllocationJson):
    """A cluster: its version, the devices in use, and the plugins that do not run."""

    kubernetes: str
    plugins_not_started: list[str]
    other_pods_pending: list[str]


class StatusJson(TypedDict):
    """State of a stack.

    Whether all copies have their devices, or wait in their queue to the end, by cluster.
    """

    all_allocated: bool
    clusters: dict[str, ClusterJson]


class ClusterStatus(Struct, frozen=True, kw_only=True):
    """A cluster: the version that it reports, and its allocated devices.

    Attributes:
        kubernetes: The version.
        allocation: Its devices, and who holds them.
        ends: The sets of workloads that its queues may come to run; of a cluster without queues all.
        plugins_not_started: A sentence for each node plugin that does not run: its devices are missing, and
            Helm may count its release as successful all the same.
        other_pods_pending: A sentence with the cause for each Pending pod that the stack did not declare.
    """

    kubernetes: str
    allocation: ClusterAllocation
    ends: tuple[frozenset[str], ...] = ()
    plugins_not_started: tuple[str, ...] = ()
    other_pods_pending: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """True if all copies have their devices, except those that queues let wait to the end."""
        waiting = self.allocation.waiting
        return not waiting or (
            waiting == self.allocation.queued
            and frozenset(self.allocation.workloads.keys() - waiting) in self.ends
        )


class StackStatus(Struct, frozen=True, kw_only=True):
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
    def requested(self) -> int:
        """Copies that should."""
        return sum(item.requested for item in self.workloads)

    @property
    def all_allocated(self) -> bool:
        """True if all copies have their devices at once, except those that queues let wait to the end."""
        return all(cluster.complete for cluster in self.clusters.values())

    @property
    def complete(self) -> bool:
        """True if all devices are allocated and every node plugin runs."""
        return self.all_allocated and not self.plugins_not_started

    @property
    def plugins_not_started(self) -> list[str]:
        """Messages about node plugins that do not run, with their clusters."""
        return [
            f"cluster {name}: {reported}"
            for name, cluster in self.clusters.items()
            for reported in cluster.plugins_not_started
        ]

    @property
    def other_pods_pending(self) -> list[str]:
        """The sentences on Pending pods that the stack did not declare, with their clusters."""
        return [
            f"cluster {name}: {sentence}"
            for name, cluster in self.clusters.items()
            for sentence in cluster.other_pods_pending
        ]

    def as_json(self) -> StatusJson:
        """Return the documented shape of `rehearse status --json`."""
        return {
            "all_allocated": self.all_allocated,
            "clusters": {name: _cluster_json(cluster) for name, cluster in self.clusters.items()},
        }


async def read_status(plan: FleetPlan, home: Home) -> StackStatus:
    """Read every cluster of a plan at about the same moment; errors are those of `ConnectedStack`."""
    async with connected(plan, home) as stack:
        return await stack.status()


@asynccontextmanager
async def connected(plan: FleetPlan, home: Home) -> AsyncGenerator[ConnectedStack]:
    """Keep connections to the clusters of a plan open within the context.

    Raises:
        NothingRunsError: a cluster was never started.
    """
    async with AsyncExitStack() as connections:
        apis = [
            await connections.enter_async_context(connect(home, simulated_name(cluster, home)))
            for cluster in plan.clusters
        ]
        yield ConnectedStack(tuple(zip(plan.clusters, apis, strict=True)))


class ConnectedStack(Struct, frozen=True):
    """A stack's clusters and a connection to each.

    What is read of one that does not answer raises NothingRunsError, or BusyError if it does not in time.
    """

    clusters: tuple[tuple[ClusterPlan, KubeApi], ...]

    async def status(self) -> StackStatus:
        """Return the allocations of every cluster, at about the same moment."""
        found = await asyncio.gather(*(_read_cluster(cluster, api) for cluster, api in self.clusters))
        return StackStatus(
            clusters={cluster.name: one for (cluster, _), one in zip(self.clusters, found, strict=True)}
        )

    async def count_ready(self) -> int:
        """Return the number of running workload pods, as their Jobs count them, without reading the pods."""
        return sum(await asyncio.gather(*(_count_ready(cluster, api) for cluster, api in self.clusters)))


async def _count_ready(cluster: ClusterPlan, api: KubeApi) -> int:
    with _asked(cluster):
        jobs = (await api.list("batch/v1", "Job", params={"labelSelector": WORKLOAD}))["items"]
    return sum(job.get("status", {}).get("ready", 0) for job in jobs)


async def _read_cluster(cluster: ClusterPlan, api: KubeApi) -> ClusterStatus:
    with _asked(cluster), without_collections():
        version = await api.version()
        workloads = {item.name: (item.namespace, item.copies) for item in cluster.workloads}
        queues = {item.name: item.queue for item in cluster.workloads if item.queue is not None}
        state = await read_state(api, queues=bool(queues), requested=workloads)
        pools = {pool.name: pool.labels for pool in cluster.pools}
        allocation = allocation_of(state, pools=pools, workloads=workloads, queues=queues)
        namespaces = {release.namespace for release in cluster.releases}
        plugins = [plugin_not_started(pod) for pod in state.pods_in(namespaces)]
    return ClusterStatus(
        kubernetes=version["gitVersion"],
        allocation=allocation,
        ends=ends_of(cluster),
        plugins_not_started=tuple(reported for reported in plugins if reported),
        other_pods_pending=tuple(other_pods_pending(state, workloads)),
    )


def other_pods_pending(state: ClusterState, workloads: Mapping[str, tuple[str, int]]) -> Iterator[str]:
    """Return a sentence with the cause for each Pending pod that is not a workload and no node plugin.

    Args:
        state: what was read of the cluster.
        workloads: the stack's workloads by name, with namespace and copies.
    """
    declared = {(namespace, name) for name, (namespace, _) in workloads.items()}
    for pod in state.pods:
        meta = pod["metadata"]
        name = meta.get("labels", {}).get(WORKLOAD, "")
        is_pending = pod.get("status", {}).get("phase", "Pending") == "Pending"
        if is_pending and (meta["namespace"], name) not in declared and not plugins_of(pod):
            yield f"pod {meta['namespace']}/{meta['name']} is Pending: {explain(state, pod).sentence}"


def ends_of(cluster: ClusterPlan) -> tuple[frozenset[str], ...]:
    """Return the possible final sets of running workloads of a cluster's queues."""
    always = frozenset(item.name for item in cluster.workloads if item.queue is None)
    return tuple(always | end for end in admissions(cluster.queues, cluster.workloads).ends)


@contextmanager
def _asked(cluster: ClusterPlan) -> Generator[None]:
    """Name the cluster in the error if it does not answer."""
    try:
        yield
    except httpx2.TimeoutException:
        raise BusyError(
            f"cluster {cluster.name} is too busy to answer within {ANSWER_WITHIN:.0f} s; try again later"
        ) from None
    except httpx2.TransportError as error:
        raise NothingRunsError(
            f"cluster {cluster.name} does not answer ({error}); start it with `dra-fleet rehearse up`"
        ) from error


def plugin_not_started(pod: Object) -> str:
    """Return a message for a node plugin's pod that is not ready or publishes nothing; empty for others."""
    refused = pod["metadata"].get("annotations", {}).get(REFUSED)
    if is_ready(pod) and not refused:
        return ""
    plugins = plugins_of(pod)
    if not plugins:
        return ""
    drivers = " and ".join(sorted({plugin.driver for plugin in plugins}))
    node = pod["spec"].get("nodeName")
    who = f"the plugin of {drivers} {f'on node {node}' if node else '(on no node yet)'}"
    if is_ready(pod):
        return f"{who} runs, but its devices are missing, for the API server refuses its slices: {refused}"
    return f"{who} has not started, so its devices are missing: {pod_trouble(pod)}"


def devices_by_node(workload: WorkloadAllocation) -> dict[str, list[str]]:
    """Return the devices allocated to a workload, per node, in order."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for pod in workload.pods:
        found[pod.node or "no node"] += [item.device for item in pod.devices]
    return {node: sorted(devices) for node, devices in sorted(found.items()) if devices}


def _cluster_json(cluster: ClusterStatus) -> ClusterJson:
    return {
        "kubernetes": cluster.kubernetes,
        "plugins_not_started": list(cluster.plugins_not_started),
        "other_pods_pending": list(cluster.other_pods_pending),
        **allocation_json(cluster.allocation),
    }
