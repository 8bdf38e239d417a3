"""Who holds devices on the clusters of a stack now, as plain data that can be saved and reviewed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx2

from dra_fleet.clusters.allocation import allocation_json, allocation_of
from dra_fleet.clusters.api_errors import ApiError
from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import KubeconfigError
from dra_fleet.clusters.objects import without_collections
from dra_fleet.clusters.pending import read_state
from dra_fleet.clusters.sources import open_kubeconfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.pending import ClusterState
    from dra_fleet.model.plan import ClusterPlan, FleetPlan

Object = dict[str, Any]


Workloads = Mapping[str, tuple[str, int]]
"""By name the namespace and the copies."""


@dataclass(frozen=True)
class ClusterAnswers:
    """What the clusters of some plans answered, by name."""

    plans: Sequence[FleetPlan]
    states: Mapping[str, ClusterState]

    def holders(self, more: Mapping[str, Workloads]) -> Object:
        """Who holds devices.

        Args:
            more: By cluster, workloads that no plan may know; those that one knows are as it says.
        """
        known = self._workloads
        if all(found.keys() <= known.get(name, {}).keys() for name, found in more.items()):
            return self.planned
        return self._holders({name: {**more.get(name, {}), **found} for name, found in known.items()})

    @cached_property
    def planned(self) -> Object:
        """Who holds devices, by the workloads of the plans alone."""
        return self._holders(self._workloads)

    @property
    def _workloads(self) -> dict[str, dict[str, tuple[str, int]]]:
        return {
            name: {item.name: (item.namespace, item.copies) for one in known for item in one.workloads}
            for name, known in _by_name(self.plans).items()
        }

    def _holders(self, workloads: Mapping[str, Workloads]) -> Object:
        pools = {
            name: {pool.name: pool.labels for one in known for pool in one.pools}
            for name, known in _by_name(self.plans).items()
        }
        found = {
            name: allocation_of(state, pools=pools[name], workloads=workloads[name], explained=False)
            for name, state in self.states.items()
        }
        return {"clusters": {name: dict(allocation_json(one)) for name, one in found.items()}}


async def read_clusters(plans: Sequence[FleetPlan], stack: str) -> ClusterAnswers:
    """Ask every cluster of some plans of a stack, such as the one that will be and the one that was.

    A cluster that the stack has not made yet is left out.

    Args:
        plans: What is known of clusters, pools and workloads; the last plan's word wins.
        stack: The stack whose secrets or outputs hold kubeconfigs.

    Raises:
        KubeconfigError: A cluster cannot be reached or refuses to answer.
    """
    by_name = _by_name(plans)
    answers = await asyncio.gather(*(_ask(known[-1], stack) for known in by_name.values()))
    found = zip(by_name, answers, strict=True)
    read = ClusterAnswers(plans, {name: answer for name, answer in found if answer is not None})
    _ = read.planned  # worked out while whoever asked waits for something else
    return read


def _by_name(plans: Sequence[FleetPlan]) -> dict[str, list[ClusterPlan]]:
    found: dict[str, list[ClusterPlan]] = {}
    for plan in plans:
        for cluster in plan.clusters:
            found.setdefault(cluster.name, []).append(cluster)
    return found


async def _ask(cluster: ClusterPlan, stack: str) -> ClusterState | None:
    try:
        config = open_kubeconfig(cluster, stack)
    except KubeconfigError:
        if cluster.kubeconfig is None:
            return None
        raise
    try:
        async with KubeApi.connect(config) as api:
            with without_collections():
                return await read_state(api, wanted={})
    except (httpx2.TransportError, ApiError) as problem:
        said = str(problem) or type(problem).__name__
        raise KubeconfigError(
            f"cluster {cluster.name} does not say who holds devices: {said}; "
            "check its kubeconfig, or review without --running"
        ) from problem
