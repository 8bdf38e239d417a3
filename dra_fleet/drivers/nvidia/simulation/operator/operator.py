"""The operator's own loop: from the ClusterPolicy object to node labels and DaemonSets.

It does everything with the connection it is given, which is its pod's: what the pod may not do fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clusters.api_errors import ApiError
from dra_fleet.drivers.nvidia.simulation.operator import labels, policy
from dra_fleet.drivers.nvidia.simulation.operator.operands import (
    HASH,
    OPERANDS,
    component_of,
    objects_of,
    runtime_class,
)

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.drivers.nvidia.simulation.operator.policy import Policy

CONFLICT = 409


async def reconcile(api: KubeApi, namespace: str, version: str) -> None:
    """Bring nodes and operands in line with the ClusterPolicy; the oldest counts if there are several.

    Args:
        api: acts as the operator's pod.
        namespace: the operator's, and its operands'.
        version: the operator's.

    Raises:
        ApiError: it may not do something.
    """
    found = (await api.list(policy.API, policy.KIND))["items"]
    if not found:
        return
    body = min(found, key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["name"]))
    if "deletionTimestamp" in body["metadata"]:
        return
    now = policy.read(body, version)
    if not await _label_nodes(api, now):
        await _report(api, body, namespace, ready=True)
        return
    daemonsets = await api.list("apps/v1", "DaemonSet", namespace)
    present: dict[str, Object] = {item["metadata"]["name"]: item for item in daemonsets["items"]}
    for operand in OPERANDS:
        if component_of(operand, now).enabled:
            *needed, daemonset = objects_of(operand, now, namespace)
            if _differs(present.get(operand.name), daemonset):
                for item in (runtime_class(now), *needed):
                    await _ensure(api, item, None)
                await _ensure(api, daemonset, present.get(operand.name))
        elif operand.name in present:
            await api.delete("apps/v1", "DaemonSet", operand.name, namespace)
    await _report(api, body, namespace, ready=all(_is_ready(item) for item in present.values()))


async def _label_nodes(api: KubeApi, now: Policy) -> bool:
    """Set the nodes' labels; whether any node has GPUs."""
    found = False
    for node in (await api.list("v1", "Node"))["items"]:
        present: dict[str, str] = node["metadata"].get("labels", {})
        change = labels.changes(present, now)
        if change:
            await api.merge("v1", "Node", node["metadata"]["name"], {"metadata": {"labels": change}})
        found = found or labels.has_gpus(present)
    return found


def _differs(present: Object | None, wanted: Object) -> bool:
    if present is None:
        return True
    return present["metadata"].get("annotations", {}).get(HASH) != wanted["metadata"]["annotations"][HASH]


async def _ensure(api: KubeApi, wanted: Object, present: Object | None) -> None:
    """Create an object, or replace it where its content is another."""
    if present is None:
        try:
            await api.create(wanted)
        except ApiError as error:
            if error.code != CONFLICT:
                raise
        else:
            return
        meta = wanted["metadata"]
        present = await api.get(wanted["apiVersion"], wanted["kind"], meta["name"], meta.get("namespace"))
    if _differs(present, wanted):
        meta = {**wanted["metadata"], "resourceVersion": present["metadata"]["resourceVersion"]}
        await api.replace({**wanted, "metadata": meta})


def _is_ready(daemonset: Object) -> bool:
    status = daemonset.get("status", {})
    return status.get("observedGeneration") == daemonset["metadata"].get("generation") and status.get(
        "numberReady", 0
    ) >= status.get("desiredNumberScheduled", 0)


async def _report(api: KubeApi, body: Object, namespace: str, *, ready: bool) -> None:
    status = {"state": "ready" if ready else "notReady", "namespace": namespace}
    if body.get("status") == status:
        return
    name = body["metadata"]["name"]
    await api.merge(policy.API, policy.KIND, name, {"status": status}, subresource="status")
