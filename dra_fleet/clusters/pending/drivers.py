"""Why a driver publishes nothing for a node: it is not installed, not placed, not ready, or finds nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.clusters.pending.reason import Cause, WaitingReason, label_problem, untolerated

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.clusters.pending.state import ClusterState

REGISTRY = "plugins_registry"
"""Every DRA driver's node plugin mounts the kubelet's registration directory."""


def driver_problem(state: ClusterState, driver: str, nodes: list[Object]) -> WaitingReason:
    """Why none of these nodes has devices of the driver; the most telling of the nodes' reasons."""
    daemonsets = [item for item in state.daemonsets if _runs(item["spec"]["template"]["spec"], driver)]
    if not daemonsets:
        return WaitingReason(
            Cause.NO_DRIVER,
            f"no DaemonSet of this cluster runs DRA driver {driver}: install its chart, "
            "or let the claim ask for a class of a driver that is installed",
        )
    reasons = [_on_node(state, driver, daemonsets[0], node) for node in nodes]
    order = list(Cause)
    return min(reasons, key=lambda reason: (reason.cause is Cause.NO_DEVICES, order.index(reason.cause)))


def serves(state: ClusterState, driver: str, node: str) -> bool:
    """Whether a ready pod of the driver runs on a node."""
    return any(
        _runs(pod["spec"], driver) and pod_trouble(pod) is None and "deletionTimestamp" not in pod["metadata"]
        for pod in state.pods_on(node)
    )


def _runs(spec: Object, driver: str) -> bool:
    mounts = [volume.get("hostPath", {}).get("path", "") for volume in spec.get("volumes", [])]
    if not any(path.rstrip("/").endswith(REGISTRY) for path in mounts):
        return False
    text = json.dumps(spec["containers"])
    known = drivers.publishing(driver)
    return driver in text or (known is not None and known.publishers[driver] in text)


def _on_node(state: ClusterState, driver: str, daemonset: Object, node: Object) -> WaitingReason:
    name, meta = node["metadata"]["name"], daemonset["metadata"]
    who = f"DaemonSet {meta['namespace']}/{meta['name']}"
    spec = daemonset["spec"]["template"]["spec"]
    labels = label_problem(spec, node)
    known = drivers.publishing(driver)
    awaited = known.awaits(spec, node) if labels and known else None
    if awaited:
        return WaitingReason(Cause.NOT_PARTITIONED, awaited)
    if labels:
        return WaitingReason(
            Cause.DRIVER_LABEL_MISSING,
            f"no pod of driver {driver} on node {name} because {labels}: label the node's pool as "
            f"{who} asks, or change the chart's kubeletPlugin.affinity",
        )
    taint = untolerated(spec, node, daemon=True)
    if taint:
        return WaitingReason(
            Cause.DRIVER_TAINT_NOT_TOLERATED,
            f"no pod of driver {driver} on node {name} because {who} does not tolerate its taint {taint}: "
            "add the toleration to the chart's kubeletPlugin.tolerations",
        )
    for pod in state.pods_on(name):
        if any(owner["uid"] == meta["uid"] for owner in pod["metadata"].get("ownerReferences", [])):
            return _of_pod(driver, pod, name)
    return WaitingReason(
        Cause.DRIVER_NOT_READY, f"{who} has made no pod of driver {driver} on node {name} yet: see its events"
    )


def _of_pod(driver: str, pod: Object, node: str) -> WaitingReason:
    who = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    trouble = pod_trouble(pod)
    if trouble:
        return WaitingReason(
            Cause.DRIVER_NOT_READY,
            f"the pod of driver {driver} on node {node} ({who}) is not ready: {trouble}",
        )
    known = drivers.publishing(driver)
    why = known.unusable() if known else ""
    return WaitingReason(
        Cause.NO_DEVICES,
        f"the pod of driver {driver} on node {node} ({who}) runs but publishes no device: the host has no "
        f"usable device for it{f' ({why})' if why else ''}, or its slices are refused (see its log)",
    )


def pod_trouble(pod: Object) -> str | None:
    """Why a pod is not ready, in its own words; None when it is."""
    status = pod.get("status", {})
    conditions = {item["type"]: item for item in status.get("conditions", [])}
    if conditions.get("Ready", {}).get("status") == "True":
        return None
    for item in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
        waiting = item.get("state", {}).get("waiting", {})
        if waiting.get("message"):
            return f"{waiting['reason']}: {waiting['message']}"
    for kind in ("Initialized", "Ready", "PodScheduled"):
        condition = conditions.get(kind, {})
        if condition.get("status") == "False" and condition.get("message"):
            return str(condition["message"])
    return f"it is {status.get('phase', 'Pending')}"
