"""Simulated Dynamic Workload Scheduler of GKE: a request gets all of its nodes at once, or waits.

https://cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest (2026-11-28): a request is
Accepted, then Provisioned once the cloud has all machines, or Failed if no pool can ever serve it. Its nodes
are kept for pods that start in time. That the time has passed is not reported.
"""

from __future__ import annotations

from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from dra_fleet.rehearsal.simulator.packing import Packing, requests_of, template_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.clusters.pending import ClusterState
    from dra_fleet.rehearsal.clouds.cloud import SimulatedCloud
    from dra_fleet.rehearsal.clouds.scaling import ScaledPool

API: Final = "autoscaling.x-k8s.io/v1"
KIND: Final = "ProvisioningRequest"
BOOKING_SECONDS: Final = 60.0
"""Seconds that the nodes of a request are kept without pods; GKE keeps them for ten minutes."""


async def serve_requests(
    api: KubeApi, state: ClusterState, pools: Sequence[tuple[SimulatedCloud, ScaledPool]]
) -> bool:
    """Serve the requests of a cluster.

    Args:
        api: The cluster.
        state: A snapshot of it.
        pools: Its queued pools.

    Returns:
        Whether idle nodes are kept, because a request got them a short time ago.
    """
    is_booked, served = False, {pool.queued for _, pool in pools}
    for request in (await api.list(API, KIND))["items"]:
        if request["spec"].get("provisioningClassName") not in served:
            continue
        conditions: dict[str, Object] = {
            one["type"]: one for one in request.get("status", {}).get("conditions", [])
        }
        if "Failed" in conditions:
            continue
        if provisioned := conditions.get("Provisioned"):
            since = datetime.fromisoformat(provisioned["lastTransitionTime"])
            is_booked |= (datetime.now(UTC) - since).total_seconds() < BOOKING_SECONDS
        elif "Accepted" not in conditions:
            await _report(api, request, "Accepted", "the request is in the queue")
        else:
            is_booked |= await _provision(api, state, request, pools)
    return is_booked


async def _provision(
    api: KubeApi,
    state: ClusterState,
    request: Object,
    pools: Sequence[tuple[SimulatedCloud, ScaledPool]],
) -> bool:
    reasons: list[str] = []
    for cloud, pool in pools:
        nodes, reason = await _nodes_for(api, state, request, pool)
        if not reason and len(pool.machines) + nodes > pool.most:
            reason = f"{nodes} nodes are needed, and it has at most {pool.most}"
        if reason:
            reasons.append(f"pool {pool.name}: {reason}")
            continue
        try:
            if await cloud.resize(pool, more=nodes):
                await _report(api, request, "Provisioned", f"{nodes} nodes of pool {pool.name} were created")
                return True
        except CloudRefusal as refusal:
            await _report(api, request, "Accepted", f"waiting for resources: {refusal}")
        return False
    await _report(api, request, "Failed", "; ".join(reasons))
    return False


async def _nodes_for(api: KubeApi, state: ClusterState, request: Object, pool: ScaledPool) -> tuple[int, str]:
    """Return how many nodes of a pool a request needs, or why its pods cannot run there."""
    template, namespace, total = template_of(state, pool, ()), request["metadata"]["namespace"], 0
    packing = Packing(state, {pool.name: template}, {})
    for pod_set in request["spec"].get("podSets", []):
        name = pod_set["podTemplateRef"]["name"]
        found = await api.find("v1", "PodTemplate", name, namespace)
        if found is None:
            return 0, f"PodTemplate {namespace}/{name} does not exist"
        spec = _with_requests(found["template"]["spec"])
        pod: dict[str, Any] = {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
        if reason := packing.why_not_new(pod, pool.name):
            return 0, reason
        most = min(template.free[key] // amount for key, amount in requests_of(spec).items() if amount)
        total += ceil(pod_set["count"] / most)
    return total, ""


def _with_requests(spec: Object) -> Object:
    """Return the spec of a pod as the API server stores it: limits without requests are requests."""
    containers: list[Object] = []
    for container in spec["containers"]:
        resources: dict[str, dict[str, str]] = container.get("resources", {})
        requests = {**resources.get("limits", {}), **resources.get("requests", {})}
        containers.append({**container, "resources": {**resources, "requests": requests}})
    return {**spec, "containers": containers}


async def _report(api: KubeApi, request: Object, kind: str, message: str) -> None:
    """Set a condition of a request. A message that has not changed is not written again."""
    before: list[Object] = request.get("status", {}).get("conditions", [])
    if any(one["type"] == kind and one["message"] == message for one in before):
        return
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    added = {"type": kind, "status": "True", "reason": kind, "message": message, "lastTransitionTime": now}
    conditions = [*(one for one in before if one["type"] != kind), added]
    meta = request["metadata"]
    await api.merge(
        API,
        KIND,
        meta["name"],
        {"status": {"conditions": conditions}},
        namespace=meta["namespace"],
        subresource="status",
    )
