"""Reads what the streaming events of a preview say that a review reports."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.core.findings.engine_events import NoEngineEventsError, take_events
from dra_fleet.core.findings.reported import ReportedViolation, reported_violation
from dra_fleet.review.errors import ReviewError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Object = dict[str, Any]

STACK = "pulumi:pulumi:Stack"
_NEVER = dt.datetime.fromtimestamp(0, dt.UTC)


@dataclass(frozen=True, kw_only=True)
class EngineStep:
    """A step of the engine on one resource.

    Attributes:
        urn: The resource.
        type: Its type token.
        operation: The engine's word: same, create, update, replace, create-replacement, delete …
        parent: Its parent's URN, empty for the stack.
        old: What the state holds of it, None where it is new.
        new: What the program requests, None if it is deleted.
        diff: Per property path how it changes (`update`, `add-replace`, …).
        keys: The properties that make it a replacement.
    """

    urn: str
    type: str
    operation: str
    parent: str
    old: Object | None
    new: Object | None
    diff: Mapping[str, str]
    keys: tuple[str, ...]

    @property
    def name(self) -> str:
        """The logical name."""
        return self.urn.rsplit("::", 1)[-1]

    @property
    def is_protected(self) -> bool:
        """True if the engine refuses to delete the resource."""
        return bool((self.old or {}).get("protect"))


@dataclass(kw_only=True)
class Preview:
    """Result of one preview. `result` is empty if its events end before the engine's summary."""

    stack: str = ""
    started: dt.datetime = _NEVER
    seconds: float = 0.0
    result: str = ""
    operations: dict[str, int] = field(default_factory=dict[str, int])
    config: dict[str, str] = field(default_factory=dict[str, str])
    outputs: Object = field(default_factory=dict[str, Any])
    steps: list[EngineStep] = field(default_factory=list[EngineStep])
    violations: list[ReportedViolation] = field(default_factory=list[ReportedViolation])
    errors: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    packs: dict[str, str] = field(default_factory=dict[str, str])
    passed: set[str] = field(default_factory=set[str])
    failed: set[str] = field(default_factory=set[str])

    def take(self, event: Mapping[str, Any]) -> None:
        """Add one event."""
        if self.started is _NEVER and event.get("timestamp"):
            self.started = dt.datetime.fromtimestamp(event["timestamp"], dt.UTC)
        if prelude := event.get("preludeEvent"):
            self.config.update(prelude.get("config") or {})
        elif step := event.get("resourcePreEvent"):
            self._take_step(step["metadata"])
        elif violation := event.get("policyEvent"):
            self.violations.append(reported_violation(violation))
        elif analysed := event.get("policyAnalyzeSummaryEvent") or event.get(
            "policyAnalyzeStackSummaryEvent"
        ):
            self.passed.update(analysed.get("passed") or [])
            self.failed.update(analysed.get("failed") or [])
        elif diagnostic := event.get("diagnosticEvent"):
            self._take_diagnostic(diagnostic)
        elif summary := event.get("summaryEvent"):
            self._take_summary(summary)

    def _take_step(self, metadata: Mapping[str, Any]) -> None:
        step = engine_step(metadata)
        if step.type == STACK:
            self.outputs = _mapping(_mapping(step.old).get("outputs"))
        if not self.stack:
            self.stack = step.urn.partition("::")[0].rpartition(":")[2]
        self.steps.append(step)

    def _take_diagnostic(self, diagnostic: Mapping[str, Any]) -> None:
        severity, message = str(diagnostic["severity"]), str(diagnostic["message"]).strip()
        known = self.errors if severity == "error" else self.warnings if severity == "warning" else None
        if known is not None and message not in known:
            known.append(message)

    def _take_summary(self, summary: Mapping[str, Any]) -> None:
        self.result = str(summary.get("result", "succeeded"))
        self.seconds = float(summary.get("durationSeconds", 0))
        self.operations = dict(summary.get("resourceChanges") or {})
        self.packs = {
            str(name).partition("|")[0]: str(version)
            for name, version in _mapping(summary.get("PolicyPacks")).items()
        }


def engine_step(metadata: Mapping[str, Any]) -> EngineStep:
    """Return the step that an event's metadata describes."""
    old, new = metadata.get("old"), metadata.get("new")
    urn: str = metadata["urn"]
    diff: Mapping[str, Mapping[str, str]] = metadata.get("detailedDiff") or {}
    return EngineStep(
        urn=urn,
        type=metadata.get("type") or _type_in(urn),
        operation=metadata["op"],
        parent=str(_mapping(new or old).get("parent", "")),
        old=old,
        new=new,
        diff={path: str(entry.get("diffKind", "")) for path, entry in diff.items()},
        keys=tuple(metadata.get("keys") or ()),
    )


def _type_in(urn: str) -> str:
    return urn.split("::", 3)[2].rpartition("$")[2]


def _mapping(value: object) -> Object:
    return cast("Object", value) if isinstance(value, dict) else {}


def read_events(lines: Iterable[str | bytes], source: str) -> Preview:
    """Read the events of one preview.

    Args:
        lines: One event each, as text.
        source: What they are called in errors.

    Raises:
        ReviewError: They are no streaming events of a preview.
    """
    preview = Preview()
    try:
        take_events(lines, source, preview.take)
    except NoEngineEventsError as problem:
        raise ReviewError(str(problem)) from None
    if not (preview.steps or preview.errors or preview.result):
        raise ReviewError(
            f"{source} holds no events of a preview; save them with "
            "`PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true pulumi preview --json > events.jsonl`"
        )
    return preview
