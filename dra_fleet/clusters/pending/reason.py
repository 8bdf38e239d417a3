"""The causes a pod can wait for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """What a pod waits for; the values are part of the JSON output."""

    TEMPLATE_MISSING = "template-missing"
    CLAIM_MISSING = "claim-missing"
    CLASS_MISSING = "class-missing"
    QUOTA_EXCEEDED = "quota-exceeded"
    QUEUED = "queued"
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
    """Why a pod waits: the cause, and a sentence that names what to change."""

    cause: Cause
    sentence: str

    def __str__(self) -> str:
        return self.sentence
