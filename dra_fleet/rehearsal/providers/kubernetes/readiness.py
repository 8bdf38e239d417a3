"""When an object counts as ready, judged from the object alone.

Kinds not named here are ready as soon as they exist.
Rules: https://github.com/pulumi/pulumi-kubernetes/tree/master/provider/pkg/await
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from dra_fleet.clusters.client import Object


@dataclass(frozen=True)
class Readiness:
    """Whether an object is ready, why not, and whether waiting longer is in vain."""

    ready: bool
    reason: str = ""
    hopeless: bool = False


READY: Final = Readiness(ready=True)
_MINUTES: Final = 60.0
_OF_A_SERVICE_ACCOUNT: Final = "kubernetes.io/service-account-token"
_PASSING: Final = ("ContainerCreating", "PodInitializing", "Completed")


def _waiting(reason: str) -> Readiness:
    return Readiness(ready=False, reason=reason)


def _failed(reason: str) -> Readiness:
    return Readiness(ready=False, reason=reason, hopeless=True)


def conditions_of(body: Object) -> list[Object]:
    """An object's status conditions, none where it has no status yet."""
    status: Object = body.get("status") or {}
    return status.get("conditions") or []


def _condition(body: Object, kind: str) -> Object:
    none: Object = {}
    return next((item for item in conditions_of(body) if item["type"] == kind), none)


def _unseen(body: Object) -> bool:
    return body.get("status", {}).get("observedGeneration", 0) < body["metadata"].get("generation", 0)


def _daemon_set(body: Object) -> Readiness:
    if _unseen(body):
        return _waiting("its controller has not seen the latest change yet")
    status = body.get("status", {})
    desired = status.get("desiredNumberScheduled", 0)
    updated = status.get("updatedNumberScheduled", 0)
    if body["spec"].get("updateStrategy", {}).get("type") != "OnDelete" and updated < desired:
        return _waiting(f"{updated} of {desired} nodes run its latest pods")
    ready = min(status.get("numberReady", 0), status.get("numberAvailable", 0))
    if ready < desired:
        return _waiting(f"{ready} of {desired} pods are ready")
    return READY


def _deployment(body: Object) -> Readiness:
    progress = _condition(body, "Progressing")
    if _unseen(body):
        return _waiting("its controller has not seen the latest change yet")
    if progress.get("reason") == "ProgressDeadlineExceeded":
        return _failed(progress.get("message", "its progress deadline passed"))
    status = body.get("status", {})
    wanted = body["spec"].get("replicas", 1)
    if status.get("updatedReplicas", 0) < wanted:
        return _waiting(f"{status.get('updatedReplicas', 0)} of {wanted} pods are of the latest version")
    if status.get("replicas", 0) > wanted:
        return _waiting(f"{status['replicas'] - wanted} old pods are still there")
    if status.get("availableReplicas", 0) < wanted:
        return _waiting(f"{status.get('availableReplicas', 0)} of {wanted} pods are available")
    return READY


def _stateful_set(body: Object) -> Readiness:
    if _unseen(body):
        return _waiting("its controller has not seen the latest change yet")
    status = body.get("status", {})
    wanted = body["spec"].get("replicas", 1)
    ready = min(status.get("readyReplicas", 0), status.get("updatedReplicas", 0))
    return READY if ready >= wanted else _waiting(f"{ready} of {wanted} pods are ready")


def _replication_controller(body: Object) -> Readiness:
    wanted, available = body["spec"].get("replicas", 1), body.get("status", {}).get("availableReplicas", 0)
    return READY if available == wanted else _waiting(f"{available} of {wanted} pods are available")


def _job(body: Object) -> Readiness:
    failed = _condition(body, "Failed")
    if failed.get("status") == "True":
        return _failed(
            f"the Job failed: {failed.get('reason', '')}: {failed.get('message', '')}".rstrip(": ")
        )
    if _condition(body, "Complete").get("status") == "True":
        return READY
    if body["spec"].get("suspend"):
        return _waiting("the Job is suspended; nothing runs until somebody resumes it")
    status = body.get("status", {})
    done, wanted = status.get("succeeded", 0), body["spec"].get("completions", 1)
    return _waiting(f"{done} of {wanted} pods have completed, {status.get('active', 0)} are active")


def _pod(body: Object) -> Readiness:
    status = body.get("status", {})
    phase = status.get("phase", "Pending")
    if phase == "Failed":
        return _failed(f"the Pod failed: {status.get('reason', '')} {status.get('message', '')}".strip())
    if phase == "Succeeded" or _condition(body, "Ready").get("status") == "True":
        return READY
    return _waiting(pod_trouble(body) or f"the Pod is {phase}")


def _secret(body: Object) -> Readiness:
    """A token for a ServiceAccount is written by its controller; other Secrets are complete at once.

    Anything in it is taken for the token.
    """
    waits = body.get("type") == _OF_A_SERVICE_ACCOUNT and not body.get("data")
    return _waiting("its ServiceAccount's token is not there yet") if waits else READY


def _published(body: Object) -> Readiness:
    """An Ingress, or a Service of a load balancer: others reach it once it has an address there."""
    balanced = body["kind"] == "Ingress" or body["spec"].get("type") == "LoadBalancer"
    given = body.get("status", {}).get("loadBalancer", {}).get("ingress")
    return READY if given or not balanced else _waiting("its load balancer has no address yet")


def _volume(body: Object) -> Readiness:
    phase = body.get("status", {}).get("phase", "Pending")
    return READY if phase in ("Available", "Bound") else _waiting(f"the volume is {phase}")


def _volume_claim(body: Object) -> Readiness:
    phase = body.get("status", {}).get("phase", "Pending")
    if phase == "Bound":
        return READY
    return _waiting(f"the claim is {phase}, no volume is bound to it; a rehearsal makes no volumes")


def _quota(body: Object) -> Readiness:
    counted = body.get("status", {}).get("hard") == body["spec"].get("hard")
    return READY if counted else _waiting("its controller has not taken it up yet")


def _definition(body: Object) -> Readiness:
    refused = _condition(body, "NamesAccepted")
    if refused.get("status") == "False":
        return _failed(refused.get("message", "its names are not accepted"))
    if _condition(body, "Established").get("status") == "True":
        return READY
    return _waiting("the server does not serve it yet")


_RULES: Final[dict[tuple[str, str], tuple[Callable[[Object], Readiness], float]]] = {
    ("apps/v1", "DaemonSet"): (_daemon_set, 10 * _MINUTES),
    ("apps/v1", "Deployment"): (_deployment, 10 * _MINUTES),
    ("apps/v1", "StatefulSet"): (_stateful_set, 10 * _MINUTES),
    ("batch/v1", "Job"): (_job, 10 * _MINUTES),
    ("networking.k8s.io/v1", "Ingress"): (_published, 10 * _MINUTES),
    ("v1", "PersistentVolume"): (_volume, 5 * _MINUTES),
    ("v1", "PersistentVolumeClaim"): (_volume_claim, 5 * _MINUTES),
    ("v1", "Pod"): (_pod, 10 * _MINUTES),
    ("v1", "ResourceQuota"): (_quota, 1 * _MINUTES),
    ("v1", "ReplicationController"): (_replication_controller, 10 * _MINUTES),
    ("v1", "Secret"): (_secret, 5.0),
    ("v1", "Service"): (_published, 10 * _MINUTES),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): (_definition, 1 * _MINUTES),
}


def readiness(body: Object) -> Readiness:
    """Judge an object as the server shows it."""
    rule = _RULES.get((body["apiVersion"], body["kind"]))
    return rule[0](body) if rule else READY


def patience(body: Object) -> float:
    """How many seconds to wait for this kind where the program does not say."""
    rule = _RULES.get((body["apiVersion"], body["kind"]))
    return rule[1] if rule else 0.0


def pod_trouble(pod: Object) -> str:
    """What keeps one pod from running, empty where nothing is known."""
    status: Object = pod.get("status") or {}
    containers: list[Object] = [
        *(status.get("initContainerStatuses") or []),
        *(status.get("containerStatuses") or []),
    ]
    for container in containers:
        state: Object = container.get("state") or {}
        stuck: Object = state.get("waiting") or state.get("terminated") or {}
        if stuck.get("reason") and stuck["reason"] not in _PASSING:
            return f"container {container['name']}: {stuck['reason']}: {stuck.get('message', '')}".rstrip(
                ": "
            )
    for kind in ("PodScheduled", "Ready"):
        condition = _condition(pod, kind)
        if condition.get("status") == "False" and condition.get("message"):
            return f"{condition.get('reason', kind)}: {condition['message']}"
    return ""
