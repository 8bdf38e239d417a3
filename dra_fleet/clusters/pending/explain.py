"""The order in which causes are looked for: what is missing altogether, then placement, then devices."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import drivers
from dra_fleet.clusters.pending.state import (
    Cause,
    FalseClause,
    LocatedDevice,
    WaitingReason,
    devices_in,
    drivers_named,
    expressions,
    first_miss,
    label_problem,
    read_state,
    untolerated,
    value_named_in,
)
from dra_fleet.kubernetes.cel import CelInvalid, CelUnsupported, asked
from dra_fleet.model.specs import WORKLOAD

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.clusters.pending.state import ClusterState


REGISTRY = "plugins_registry"
"""Every DRA driver's node plugin mounts the kubelet's registration directory."""

SHOWN_HOLDERS = 4


class PendingRequest(Struct, frozen=True, kw_only=True):
    """A request, or one of its alternatives, with its class."""

    name: str
    class_name: str
    selectors: list[str]
    count: int

    @property
    def what(self) -> str:
        """Name of the request in messages."""
        return f"request {self.name} (class {self.class_name})"


CLAIM_FAILED = "FailedResourceClaimCreation"

PREPARE_FAILED = "FailedPrepareDynamicResources"


async def explain_pending(api: KubeApi, pod: Object) -> WaitingReason:
    """Say why a pod waits. For many pods, read the state once and call `explain`.

    Raises:
        ApiError: something may not be read.
    """
    return explain(await read_state(api), pod)


def explain(state: ClusterState, pod: Object) -> WaitingReason:
    """Say why a pod waits, from a snapshot."""
    if "deletionTimestamp" in pod["metadata"]:
        return _terminating(state, pod)
    if pod["spec"].get("nodeName"):
        return _bound(state, pod)
    reason, said = _unplaced(state, pod), state.autoscaler_says(pod)
    return replace(reason, sentence=f"{reason}; the autoscaler: {said}") if said else reason


def _unplaced(state: ClusterState, pod: Object) -> WaitingReason:
    specs = _claim_specs(state, pod)
    if isinstance(specs, WaitingReason):
        return specs
    nodes = _allowed_nodes(state, pod)
    if isinstance(nodes, WaitingReason):
        return nodes
    for spec in specs:
        reason = request_problem(state, spec, nodes)
        if reason:
            return reason
    return _scheduler_says(pod)


def explain_missing_pods(state: ClusterState, job: str, namespace: str) -> WaitingReason:
    """Say why a Job has fewer pods than it should.

    Args:
        state: a snapshot.
        job: the Job's name, or what its generated name begins with.
        namespace: the Job's namespace.
    """
    texts = [
        str(event.get("message", ""))
        for event in state.events
        if event["involvedObject"]["kind"] == "Job"
        and event["involvedObject"].get("namespace") == namespace
        and event["involvedObject"]["name"].startswith(job)
    ]
    if not texts:
        return WaitingReason(Cause.STARTING, f"Job {namespace}/{job} has not made its pods yet")
    if "exceeded quota" in texts[-1]:
        return WaitingReason(
            Cause.QUOTA_EXCEEDED,
            f"a ResourceQuota refuses its pods: {texts[-1]}; raise the quota or run fewer copies",
        )
    return WaitingReason(Cause.OTHER, f"Job {namespace}/{job} cannot make its pods: {texts[-1]}")


def explain_queued(state: ClusterState, workload: str, namespace: str, queue: str) -> WaitingReason | None:
    """Say why a queue does not start a workload, in Kueue's words; None where it has nothing to say.

    Args:
        state: a snapshot with Kueue's Workloads.
        workload: the declared workload's name.
        namespace: where it is.
        queue: its queue.
    """
    for item in state.queued:
        meta = item["metadata"]
        if (meta["namespace"], meta.get("labels", {}).get(WORKLOAD)) != (namespace, workload):
            continue
        conditions: list[Object] = item.get("status", {}).get("conditions", [])
        is_so = {one["type"]: one["status"] == "True" for one in conditions}
        if is_so.get("QuotaReserved") is False and not is_so.get("Finished"):
            reported = next(one.get("message", "") for one in conditions if one["type"] == "QuotaReserved")
            return WaitingReason(Cause.QUEUED, f"it waits in queue {queue}: {reported}")
    return None


def _terminating(state: ClusterState, pod: Object) -> WaitingReason:
    node = pod["spec"].get("nodeName", "")
    for driver in state.drivers_used_by(pod) if node else ():
        if not serves(state, driver, node):
            return WaitingReason(
                Cause.UNPREPARE_FAILED,
                f"it cannot end: no ready pod of DRA driver {driver} on node {node} unprepares its devices; "
                "start the driver again until the pods that use it are deleted",
            )
    return WaitingReason(Cause.ENDING, "it is ending")


def _bound(state: ClusterState, pod: Object) -> WaitingReason:
    texts = state.events_about(pod, PREPARE_FAILED)
    if texts:
        return WaitingReason(
            Cause.PREPARE_FAILED,
            f"its devices cannot be prepared on node {pod['spec']['nodeName']}: {texts[-1]}",
        )
    return WaitingReason(Cause.STARTING, f"it is starting on node {pod['spec']['nodeName']}")


def _claim_specs(state: ClusterState, pod: Object) -> list[Object] | WaitingReason:
    """Return the specs of all claims of a pod that are not allocated yet, or why one cannot be."""
    specs: list[Object] = []
    namespace = pod["metadata"]["namespace"]
    for reference in pod["spec"].get("resourceClaims", []):
        template_name = reference.get("resourceClaimTemplateName")
        if template_name is None:
            found = state.claim(reference["resourceClaimName"], namespace)
            if found is None:
                return _absent(
                    Cause.CLAIM_MISSING, "ResourceClaim", reference["resourceClaimName"], namespace
                )
            if "allocation" not in found.get("status", {}):
                specs.append(found["spec"])
            continue
        template = state.named(state.templates, template_name, namespace)
        if template is None:
            return _absent(Cause.TEMPLATE_MISSING, "ResourceClaimTemplate", template_name, namespace)
        refused = state.events_about(pod, CLAIM_FAILED)
        if refused and not _has_claim(state, pod, reference["name"]):
            return _refused(refused[-1])
        specs.append(template["spec"]["spec"])
    return specs


def _absent(cause: Cause, kind: str, name: str, namespace: str) -> WaitingReason:
    return WaitingReason(
        cause,
        f"{kind} {name} does not exist in namespace {namespace}: create it, or correct the name in the pod",
    )


def _has_claim(state: ClusterState, pod: Object, reference: str) -> bool:
    made = {
        item["name"]: item.get("resourceClaimName")
        for item in pod.get("status", {}).get("resourceClaimStatuses", [])
    }
    name = made.get(reference)
    return bool(name) and state.claim(str(name), pod["metadata"]["namespace"]) is not None


def _refused(message: str) -> WaitingReason:
    if "exceeded quota" in message:
        return WaitingReason(
            Cause.QUOTA_EXCEEDED,
            f"a ResourceQuota refuses its claim: {message}; raise the quota or run fewer copies",
        )
    return WaitingReason(Cause.CLAIM_REFUSED, f"its claim is rejected: {message}")


def _allowed_nodes(state: ClusterState, pod: Object) -> list[Object] | WaitingReason:
    labelled = [node for node in state.nodes if label_problem(pod["spec"], node) is None]
    if not labelled:
        wish = label_problem(pod["spec"], state.nodes[0]) if state.nodes else "there are no nodes"
        return WaitingReason(
            Cause.NO_NODE, f"no node is allowed for it: {wish}; correct its nodeSelector or label a pool"
        )
    tolerated = [node for node in labelled if untolerated(pod["spec"], node) is None]
    if tolerated:
        return tolerated
    taints = sorted({untolerated(pod["spec"], node) or "" for node in labelled})
    return WaitingReason(
        Cause.TAINT_NOT_TOLERATED,
        f"it does not tolerate taint {', '.join(taints)} of node {labelled[0]['metadata']['name']}: add the "
        "toleration to the workload",
    )


def _scheduler_says(pod: Object) -> WaitingReason:
    for condition in pod.get("status", {}).get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            message = str(condition.get("message", ""))
            group: Object = pod["spec"].get("schedulingGroup", {})
            if group:
                name = group["podGroupName"]
                sentence = f"the scheduler does not place PodGroup {name} together: {message}"
                return WaitingReason(Cause.GANG, sentence)
            cause = Cause.NODE_RESOURCES if "Insufficient" in message else Cause.OTHER
            return WaitingReason(cause, f"the scheduler says: {message}")
    return WaitingReason(Cause.STARTING, "the scheduler has not looked at it yet")


def asks_of(state: ClusterState, spec: Object) -> list[list[PendingRequest]] | WaitingReason:
    """Return the requests of a claim spec, each as its alternatives, or that a class is missing."""
    found: list[list[PendingRequest]] = []
    for request in spec["devices"].get("requests", []):
        bodies = [request["exactly"]] if "exactly" in request else request.get("firstAvailable", [])
        alternatives: list[PendingRequest] = []
        for body in bodies:
            name = f"{request['name']}/{body['name']}" if "name" in body else request["name"]
            device_class = state.named(state.classes, body["deviceClassName"])
            if device_class is None:
                return WaitingReason(
                    Cause.CLASS_MISSING,
                    f"DeviceClass {body['deviceClassName']} of request {name} does not exist: create it, or "
                    "install the driver whose chart includes it",
                )
            selectors = [*device_class["spec"].get("selectors", []), *body.get("selectors", [])]
            count = 1 if body.get("allocationMode") == "All" else body.get("count", 1)
            alternatives.append(
                PendingRequest(
                    name=name,
                    class_name=body["deviceClassName"],
                    selectors=expressions(selectors),
                    count=count,
                )
            )
        found.append(alternatives)
    return found


def request_problem(state: ClusterState, spec: Object, nodes: list[Object]) -> WaitingReason | None:
    """Return why the first unsatisfied request of a claim spec cannot be met on these nodes.

    None if it can.
    """
    asks = asks_of(state, spec)
    if isinstance(asks, WaitingReason):
        return asks
    for alternatives in asks:
        reasons = [_ask_problem(state, ask, spec, nodes) for ask in alternatives]
        if all(reasons):
            return reasons[0]
    return None


def _ask_problem(
    state: ClusterState, ask: PendingRequest, spec: Object, nodes: list[Object]
) -> WaitingReason | None:
    names = {node["metadata"]["name"] for node in nodes}
    seen = [device for device in devices_in(state.slices) if device.node is None or device.node in names]
    matching: list[LocatedDevice] = []
    misses: list[FalseClause] = []
    try:
        for device in seen:
            miss = first_miss(ask.selectors, device, state.minor)
            if miss is None:
                matching.append(device)
            else:
                misses.append(miss)
    except (CelInvalid, CelUnsupported, ValueError) as error:
        return WaitingReason(Cause.OTHER, f"the selectors of {ask.what} cannot be checked here: {error}")
    failed = next((miss for miss in misses if miss.outcome == "error"), None)
    if failed:
        return _error_reason(ask, failed)
    silent = _silent_nodes(state, ask, nodes)
    if not matching:
        return _nearest(ask, misses, silent, nodes)
    return _occupied(state, ask, spec, matching, silent)


def _error_reason(ask: PendingRequest, miss: FalseClause) -> WaitingReason:
    return WaitingReason(
        Cause.SELECTOR_ERROR,
        f"clause `{miss.clause}` of {ask.what} fails on device {miss.device} ({miss.message}), which stops "
        "scheduling on every node: guard it with device.driver, has() or orValue()",
    )


def _silent_nodes(state: ClusterState, ask: PendingRequest, nodes: list[Object]) -> WaitingReason | None:
    """Return a reason if some of the nodes have no device of the requested driver."""
    for driver in sorted(drivers_named(ask.selectors)):
        publishing = {
            item["spec"].get("nodeName")
            for item in state.slices
            if item["spec"]["driver"] == driver and item["spec"].get("devices")
        }
        silent = [node for node in nodes if node["metadata"]["name"] not in publishing]
        if silent:
            return driver_problem(state, driver, silent)
    return None


def _nearest(
    ask: PendingRequest, misses: list[FalseClause], silent: WaitingReason | None, nodes: list[Object]
) -> WaitingReason:
    """Return what the closest device lacks.

    Report a node without devices first if its driver publishes none.
    """
    drivers = drivers_named(ask.selectors)
    reported = [miss for miss in misses if not drivers or miss.device.driver in drivers]
    if not reported and silent:
        return silent
    if not misses:
        return WaitingReason(
            Cause.NO_DEVICES, f"no driver has published any device that {ask.what} could be given"
        )
    near = max(reported or misses, key=lambda miss: miss.true_before)
    value = value_named_in(near.clause, near.device)
    return WaitingReason(
        Cause.SELECTOR_FALSE,
        f"no device matches {ask.what}: clause `{near.clause}` is false on the nearest one, {near.device}"
        + (f", whose {value}" if value else "")
        + _unpartitioned(near, nodes)
        + _also(silent),
    )


def _occupied(
    state: ClusterState,
    ask: PendingRequest,
    spec: Object,
    matching: list[LocatedDevice],
    silent: WaitingReason | None,
) -> WaitingReason | None:
    holders = state.holders()
    free = [device for device in matching if device.key not in holders]
    most = max(Counter(device.node for device in matching).values())
    if most < ask.count:
        return WaitingReason(
            Cause.TOO_MANY,
            f"{ask.what} wants {ask.count} devices, but no node has more than {most} that match",
        )
    best = max(Counter(device.node for device in free).values(), default=0)
    if best < ask.count:
        users = sorted({holders[device.key] for device in matching if device.key in holders})
        more = f" and {len(users) - SHOWN_HOLDERS} more" if len(users) > SHOWN_HOLDERS else ""
        users_text = ", ".join(users[:SHOWN_HOLDERS]) + more
        left = f" ({len(free)} are free, but not {ask.count} on one node)" if free else ""
        return WaitingReason(
            Cause.NO_FREE_DEVICE,
            f"no free device for {ask.what}: {len(matching) - len(free)} of {len(matching)} matching "
            f"devices are in use by {users_text}{left}; add nodes or run fewer copies{_also(silent)}",
        )
    return _constraint_problem(ask, spec, free)


def _unpartitioned(near: FalseClause, nodes: list[Object]) -> str:
    """Return a note about the node's partitions, if one was requested and a whole device is free."""
    node = next((item for item in nodes if item["metadata"]["name"] == near.device.node), None)
    driver = drivers.publishing(near.device.driver)
    why = driver.undivided(asked(near.clause), near.device.body, node) if driver and node else ""
    return f"; {why}" if why else ""


def _also(silent: WaitingReason | None) -> str:
    return f"; besides, {silent.sentence}" if silent else ""


def _constraint_problem(ask: PendingRequest, spec: Object, free: list[LocatedDevice]) -> WaitingReason | None:
    for constraint in spec["devices"].get("constraints", []):
        attribute = constraint.get("matchAttribute")
        subject = constraint.get("requests", [])
        if attribute is None or (subject and ask.name.split("/", maxsplit=1)[0] not in subject):
            continue
        groups = Counter((device.node, _value(device, attribute)) for device in free)
        groups = Counter({key: count for key, count in groups.items() if key[1] is not None})
        most = max(groups.values(), default=0)
        if most < ask.count:
            missing = "none of them publishes it" if not groups else f"at most {most} share it on one node"
            return WaitingReason(
                Cause.CONSTRAINT,
                f"{ask.what} wants {ask.count} devices of equal {attribute}, and of {len(free)} free ones "
                f"{missing}",
            )
    return None


def _value(device: LocatedDevice, attribute: str) -> str | None:
    attributes = device.body.get("attributes", {})
    domain, _, name = attribute.rpartition("/")
    value = attributes.get(attribute) or (attributes.get(name) if domain == device.driver else None)
    return None if value is None else str(value)


def driver_problem(state: ClusterState, driver: str, nodes: list[Object]) -> WaitingReason:
    """Return why none of these nodes has devices of the driver: the most specific of the nodes' reasons."""
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
    """Return whether a ready pod of the driver runs on a node."""
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
    """Return why a pod is not ready, with its own message; None if it is ready."""
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
