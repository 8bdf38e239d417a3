"""The order in which causes are looked for: what is missing altogether, then placement, then devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clusters.pending.drivers import serves
from dra_fleet.clusters.pending.placement import label_problem, untolerated
from dra_fleet.clusters.pending.reason import Cause, WaitingReason
from dra_fleet.clusters.pending.requests import request_problem
from dra_fleet.clusters.pending.state import read_state
from dra_fleet.model.labels import WORKLOAD

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.clusters.pending.state import ClusterState

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
            told = next(one.get("message", "") for one in conditions if one["type"] == "QuotaReserved")
            return WaitingReason(Cause.QUEUED, f"it waits in queue {queue}: {told}")
    return None


def _terminating(state: ClusterState, pod: Object) -> WaitingReason:
    node = pod["spec"].get("nodeName", "")
    for driver in state.drivers_held_by(pod) if node else ():
        if not serves(state, driver, node):
            return WaitingReason(
                Cause.UNPREPARE_FAILED,
                f"it cannot end: no ready pod of DRA driver {driver} on node {node} unprepares its devices; "
                "bring the driver back until its pods are gone",
            )
    return WaitingReason(Cause.ENDING, "it is ending")


def _bound(state: ClusterState, pod: Object) -> WaitingReason:
    texts = state.warnings_about(pod, PREPARE_FAILED)
    if texts:
        return WaitingReason(
            Cause.PREPARE_FAILED,
            f"its devices cannot be prepared on node {pod['spec']['nodeName']}: {texts[-1]}",
        )
    return WaitingReason(Cause.STARTING, f"it is starting on node {pod['spec']['nodeName']}")


def _claim_specs(state: ClusterState, pod: Object) -> list[Object] | WaitingReason:
    """The specs of all claims of a pod that are not allocated yet; a reason when one cannot be."""
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
        refused = state.warnings_about(pod, CLAIM_FAILED)
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
    return WaitingReason(Cause.CLAIM_REFUSED, f"its claim is refused: {message}")


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
            cause = Cause.NODE_RESOURCES if "Insufficient" in message else Cause.OTHER
            return WaitingReason(cause, f"the scheduler says: {message}")
    return WaitingReason(Cause.STARTING, "the scheduler has not looked at it yet")
