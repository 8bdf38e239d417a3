"""The causes a pod can wait for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.scheduling.node_affinity import RequiredNodeAffinity, all_labels
from dra_fleet.kubernetes.scheduling.taints import Taint, Toleration, tolerations, untolerated_taints

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.kubernetes.scheduling.node_affinity import Requirement


DAEMON_TOLERATIONS = [
    Toleration(key=f"node.kubernetes.io/{name}", operator="Exists")
    for name in (
        "not-ready",
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
    )
]
"""Tolerations that the DaemonSet controller adds to its pods."""


class Cause(StrEnum):
    """Cause of waiting; the values are part of the JSON output."""

    TEMPLATE_MISSING = "template-missing"
    CLAIM_MISSING = "claim-missing"
    CLASS_MISSING = "class-missing"
    QUOTA_EXCEEDED = "quota-exceeded"
    QUEUED = "queued"
    GANG = "gang"
    CLAIM_REFUSED = "claim-refused"
    NO_NODE = "no-node"
    TAINT_NOT_TOLERATED = "taint-not-tolerated"
    NO_DRIVER = "no-driver"
    NOT_PARTITIONED = "not-partitioned"
    DRIVER_LABEL_MISSING = "driver-label-missing"
    DRIVER_TAINT_NOT_TOLERATED = "driver-taint-not-tolerated"
    DRIVER_NOT_READY = "driver-not-ready"
    NO_DEVICES = "no-devices"
    SELECTOR_FALSE = "selector-false"
    SELECTOR_ERROR = "selector-error"
    CONSTRAINT = "constraint"
    NO_FREE_DEVICE = "no-free-device"
    TOO_MANY = "too-many"
    NODE_RESOURCES = "node-resources"
    PREPARE_FAILED = "prepare-failed"
    UNPREPARE_FAILED = "unprepare-failed"
    STARTING = "starting"
    ENDING = "ending"
    OTHER = "other"


@dataclass(frozen=True)
class WaitingReason:
    """Reason why a pod waits: the cause, and a sentence that names the change to make."""

    cause: Cause
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def label_problem(spec: Object, node: Object) -> str | None:
    """Return the labels that a node lacks for a pod specification; None if they match."""
    requested = RequiredNodeAffinity.of(spec.get("nodeSelector"), spec.get("affinity"))
    labels = all_labels(node["metadata"].get("labels", {}))
    for one in requested.selector:
        if one.holds(labels(one.key)) == "no":
            return f"label {_wish(one)} is missing"
    if requested.matches(labels, node["metadata"]["name"]) == "yes":
        return None
    reported = (" and ".join(map(_wish, (*term.labels, *term.fields))) for term in requested.terms or ())
    wishes = [wish for wish in reported if wish]
    if not wishes:
        return "a node affinity without requirements matches no node"
    return (
        f"label {wishes[0]} is missing"
        if len(wishes) == 1
        else f"it has none of the labels {'; '.join(wishes)}"
    )


def untolerated(spec: Object, node: Object, *, daemon: bool = False) -> str | None:
    """Return the first taint that a pod specification does not tolerate, as `key=value:effect`, or None."""
    given = [*tolerations(spec.get("tolerations")), *(DAEMON_TOLERATIONS if daemon else [])]
    taints = map(Taint.of, node["spec"].get("taints", []))
    return next(map(str, untolerated_taints(taints, given)), None)


def _wish(requirement: Requirement) -> str:
    key, values = requirement.key, requirement.values
    if requirement.operator == "In" and len(values) == 1:
        return f"{key}={values[0]}"
    return " ".join([key, requirement.operator, ",".join(values)]).strip()
