"""Read the events of a preview, and name the kinds of devices in short words."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field

from dra_fleet.core.findings.engine_events import NoEngineEventsError, take_events
from dra_fleet.core.findings.errors import ExpectedError, ReportedViolation, reported_violation
from dra_fleet.kubernetes.cel import UNKNOWN
from dra_fleet.review.model import DeviceKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.model.nodes import NodeDevice, NodeGroup
    from dra_fleet.review.model import Change


Object = dict[str, Any]

STACK = "pulumi:pulumi:Stack"
_NEVER = dt.datetime.fromtimestamp(0, dt.UTC)


class EngineStep(Struct, frozen=True, kw_only=True):
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


class Preview(Struct, kw_only=True):
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


class ReviewError(ExpectedError):
    """Something that the user gave or that the engine said; the text says what is wrong and the fix."""


NAMED_BY_ITSELF = ("metadata.name", "__defaults")
"""Properties that follow from others."""

_PART = re.compile(r'\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.\[\]]+)')

_WORDS = {"gpu": "GPU", "mig": "MIG", "vgpu": "vGPU", "imex-channel": "IMEX channel", "channel": "channel"}


def device_kind(device: NodeDevice) -> str:
    """Return a short name of a device's kind: `GPU`, `MIG 1g.5gb`; its driver if the type is unknown."""
    attributes = device.seen.get("attributes", {})
    kind, profile = _text(attributes, "type"), _text(attributes, "profile")
    word = _WORDS.get(kind, kind) or device.driver.partition(".")[0]
    return f"{word} {profile}" if profile else word


def device_kinds(group: NodeGroup) -> tuple[DeviceKind, ...]:
    """Return the devices of one node by kind, in the order in which they are published."""
    counts: Counter[str] = Counter()
    first: dict[str, NodeDevice] = {}
    for device in group.shape.devices:
        kind = device_kind(device)
        counts[kind] += 1
        first.setdefault(kind, device)
    return tuple(_kind(kind, counts[kind], device) for kind, device in first.items())


def _kind(kind: str, count: int, device: NodeDevice) -> DeviceKind:
    attributes, capacity = device.seen.get("attributes", {}), device.seen.get("capacity", {})
    cores = _amount(capacity, "multiprocessors")
    return DeviceKind(
        kind=kind,
        count=count,
        driver=device.driver,
        product=_text(attributes, "productName"),
        memory=_amount(capacity, "memory"),
        multiprocessors=int(cores) if cores.isdigit() else device.multiprocessors,
    )


def _text(attributes: Mapping[str, Any], name: str) -> str:
    value = next(iter(attributes.get(name, {}).values()), "")
    return "" if value is UNKNOWN else str(value)


def _amount(capacity: Mapping[str, Any], name: str) -> str:
    value = capacity.get(name, {}).get("value", "")
    return "" if value is UNKNOWN else str(value)


def total(kinds: Sequence[DeviceKind]) -> int:
    """Return the number of a node's devices."""
    return sum(kind.count for kind in kinds)


def grouped(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Merge changes of equal text on several clusters, with all their clusters, losses and steps."""
    alike: dict[tuple[str, ...], list[Change]] = {}
    for item in changes:
        alike.setdefault((item.weight, item.action, item.kind, item.text, *item.details), []).append(item)
    return tuple(found[0] if len(found) == 1 else _one(found) for found in alike.values())


def _one(found: Sequence[Change]) -> Change:
    lost = [item.lost_claims for item in found]
    return found[0].model_copy(
        update={
            "cluster": ", ".join(dict.fromkeys(item.cluster for item in found)),
            "lost_claims": None if None in lost else sum(count or 0 for count in lost),
            "lost_workloads": tuple(dict.fromkeys(name for item in found for name in item.lost_workloads)),
            "resources": tuple(step for item in found for step in item.resources),
        }
    )


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with a noun: `1 node`, `2 nodes`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def ranged(least: int, most: int, noun: str) -> str:
    """Return a range with a noun: `1 node`, `1 to 3 nodes`."""
    return counted(most, noun) if least == most else f"{least} to {counted(most, noun)}"


def short_list(names: tuple[str, ...] | list[str], most: int = 5) -> str:
    """List some names and the number of the others."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")


def value_at(value: object, path: str) -> object | None:
    for index, quoted, name in _PART.findall(path):
        if isinstance(value, list) and index:
            items = cast("list[object]", value)
            value = items[int(index)] if int(index) < len(items) else None
        elif isinstance(value, dict):
            value = cast("dict[str, object]", value).get(quoted.replace('\\"', '"') or name or index)
        else:
            return None
    return value


def fields_of(steps: Sequence[EngineStep]) -> list[str]:
    """Return the changing properties by their last names, in order, without the engine's own."""
    paths = dict.fromkeys(path for step in steps for path in step.diff)
    return [last_name(path) for path in paths if path not in NAMED_BY_ITSELF]


def last_name(path: str) -> str:
    names = [quoted or name for _, quoted, name in _PART.findall(path) if quoted or name]
    return names[-1] if names else path
