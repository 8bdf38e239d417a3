"""Violations as Pulumi's engine reports them in its events.

https://github.com/pulumi/pulumi/blob/master/sdk/go/common/apitype/events.go (PolicyEvent).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


Level = Literal["ok", "warning", "unchecked", "problem"]


@dataclass(frozen=True, kw_only=True)
class PreflightFinding:
    """Result of one check. `problem`: `pulumi up` would fail. `unchecked`: there was no answer."""

    level: Level
    subject: str
    message: str
    fix: str = ""


@dataclass(frozen=True, kw_only=True)
class ReportedViolation:
    """A policy violation as the engine reported it."""

    rule: str
    pack: str
    level: str
    severity: str
    message: str
    urn: str


def reported_violation(event: Mapping[str, Any]) -> ReportedViolation:
    """Return the violation of a `policyEvent`."""
    return ReportedViolation(
        rule=event["policyName"],
        pack=event.get("policyPackName", ""),
        level=event.get("enforcementLevel", ""),
        severity=event.get("severity", ""),
        message=str(event.get("message", "")).strip(),
        urn=event.get("resourceUrn", ""),
    )
