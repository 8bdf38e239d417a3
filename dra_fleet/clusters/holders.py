"""Who holds devices on the clusters of a stack now, as plain data that can be saved and reviewed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httpx2

from dra_fleet.clusters.allocation import allocation_json, read_allocation
from dra_fleet.clusters.api_errors import ApiError
from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import KubeconfigError
from dra_fleet.clusters.sources import open_kubeconfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.model.plan import ClusterPlan, FleetPlan

Object = dict[str, Any]


Workloads = Mapping[str, tuple[str, int]]
"""By name the namespace and the copies."""


async def read_holders(
    plans: Sequence[FleetPlan], stack: str, more: Mapping[str, Workloads] | None = None
) -> Object:
    """Ask every cluster of some plans of a stack, such as the one that will be and the one that was.

    A cluster that the stack has not made yet is left out.

    Args:
        plans: What is known of clusters, pools and workloads.
        stack: The stack whose secrets or outputs hold kubeconfigs.
        more: By cluster, workloads that no plan knows.

    Raises:
        KubeconfigError: A cluster cannot be reached or refuses to answer.
    """
    by_name: dict[str, list[ClusterPlan]] = {}
    for plan in plans:
        for cluster in plan.clusters:
            by_name.setdefault(cluster.name, []).append(cluster)
    answers = await asyncio.gather(
        *(_ask(known, stack, (more or {}).get(name, {})) for name, known in by_name.items())
    )
    found = zip(by_name, answers, strict=True)
    return {"clusters": {name: answer for name, answer in found if answer is not None}}


async def _ask(known: Sequence[ClusterPlan], stack: str, more: Workloads) -> Object | None:
    """One cluster, by all that is known of its pools and workloads; the last plan's word wins."""
    last = known[-1]
    try:
        config = open_kubeconfig(last, stack)
    except KubeconfigError:
        if last.kubeconfig is None:
            return None
        raise
    try:
        async with KubeApi.connect(config) as api:
            allocation = await read_allocation(
                api,
                pools={pool.name: pool.labels for plan in known for pool in plan.pools},
                workloads={
                    **more,
                    **{item.name: (item.namespace, item.copies) for plan in known for item in plan.workloads},
                },
            )
            return dict(allocation_json(allocation))
    except (httpx2.TransportError, ApiError) as problem:
        said = str(problem) or type(problem).__name__
        raise KubeconfigError(
            f"cluster {last.name} does not say who holds devices: {said}; "
            "check its kubeconfig, or review without --running"
        ) from problem
