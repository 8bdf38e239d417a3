"""Which nodes a pod specification allows: node selector, required node affinity, taints.

Rules: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/ and …/taint-and-toleration/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object

STOPPING = ("NoSchedule", "NoExecute")
DAEMON_TOLERATIONS: list[Object] = [
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists"}
    for name in (
        "not-ready",
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
    )
]
"""What the DaemonSet controller adds to its pods."""


def label_problem(spec: Object, node: Object) -> str | None:
    """What a node's labels lack for a pod specification; None when it may go there."""
    labels = node["metadata"].get("labels", {})
    for key, value in spec.get("nodeSelector", {}).items():
        if labels.get(key) != value:
            return f"label {key}={value} is missing"
    required = (
        spec.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    )
    if required is None:
        return None
    terms = required["nodeSelectorTerms"]
    if any(_term_holds(term, node) for term in terms):
        return None
    wishes = [" and ".join(_wish(item) for item in _requirements(term)) for term in terms]
    return (
        f"label {wishes[0]} is missing"
        if len(wishes) == 1
        else f"it has none of the labels {'; '.join(wishes)}"
    )


def untolerated(spec: Object, node: Object, *, daemon: bool = False) -> str | None:
    """The first taint that keeps a pod specification off a node, as `key=value:effect`, or None."""
    tolerations = [*spec.get("tolerations", []), *(DAEMON_TOLERATIONS if daemon else [])]
    for taint in node["spec"].get("taints", []):
        if taint["effect"] in STOPPING and not any(_tolerates(item, taint) for item in tolerations):
            value = f"={taint['value']}" if taint.get("value") else ""
            return f"{taint['key']}{value}:{taint['effect']}"
    return None


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    key = toleration.get("key", "")
    if toleration.get("operator", "Equal") == "Exists":
        return key in ("", taint["key"])
    return key == taint["key"] and toleration.get("value", "") == taint.get("value", "")


def _requirements(term: Object) -> list[Object]:
    return [*term.get("matchExpressions", []), *term.get("matchFields", [])]


def _term_holds(term: Object, node: Object) -> bool:
    labels = node["metadata"].get("labels", {})
    fields = {"metadata.name": node["metadata"]["name"]}
    return bool(_requirements(term)) and all(
        [_holds(item, labels) for item in term.get("matchExpressions", [])]
        + [_holds(item, fields) for item in term.get("matchFields", [])]
    )


def _holds(requirement: Object, labels: Object) -> bool:
    value, values = labels.get(requirement["key"]), requirement.get("values", [])
    match requirement["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and int(value) > int(values[0])
        case _:
            return value is not None and int(value) < int(values[0])


def _wish(requirement: Object) -> str:
    key, values = requirement["key"], requirement.get("values", [])
    if requirement["operator"] == "In" and len(values) == 1:
        return f"{key}={values[0]}"
    return " ".join([key, requirement["operator"], ",".join(values)]).strip()
