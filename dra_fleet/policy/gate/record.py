"""Policy results in the engine's streaming events: each result by itself, and their sum."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from dra_fleet.core.findings.engine_events import FIX, NoEngineEventsError, take_events
from dra_fleet.core.findings.errors import ReportedViolation, reported_violation
from dra_fleet.policy.gate.errors import GateError, NoEventsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

CHECKED_OPERATIONS: Final = frozenset(
    {"create", "update", "same", "replace", "create-replacement", "import", "import-replacement"}
)
"""Steps on resources that a program requests; reads and deletes are not checked."""
_OTHER_OPERATIONS: Final = frozenset(
    {"delete", "delete-replaced", "discard", "discard-replaced", "read", "read-replacement", "refresh"}
    | {"remove-pending-replace"}
)
"""The engine's other steps: https://github.com/pulumi/pulumi/blob/master/sdk/go/common/apitype/updates.go"""
_STACK_TYPE: Final = "pulumi:pulumi:Stack"
_BY_URN: Final = (
    "resourcePreEvent",
    "policyAnalyzeSummaryEvent",
    "policyAnalyzeStackSummaryEvent",
    "policyEvent",
)
"""Events that precede the summary."""


class Judgement(Struct, frozen=True, kw_only=True):
    """That a pack checked a resource, or with an empty URN the stack: by which rules, and which failed."""

    urn: str
    pack: str
    version: str
    rules: frozenset[str]
    failed: frozenset[str] = frozenset()


class Record(Struct, kw_only=True):
    """Record of the policy results in one run of the engine.

    Attributes:
        resources: the resources that the program requests, by URN, as their steps say.
        outputs: their outputs, by URN, as far as they are known.
        finished: whether the engine's summary is there.
        result: the engine's word in it, `succeeded` or `failed`.
        untold: steps that the summary counts and no event reports.
        odd: what no preview of a whole program says.
        without_engine: the rules ran on these events alone, not within the engine.
        unlisted: URNs of resources that a step says are the same, although no state holds them.
        changed_files: files of the pack that are not as they were before the run.
        uncertain: by rule what it found, although the events report too little for it to be sure.
    """

    stack: str = ""
    resources: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, "Mapping[str, Any]"])
    outputs: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, "Mapping[str, Any]"])
    judgements: list[Judgement] = field(default_factory=list[Judgement])
    stack_judgements: list[Judgement] = field(default_factory=list[Judgement])
    violations: list[ReportedViolation] = field(default_factory=list[ReportedViolation])
    remediations: list[ReportedViolation] = field(default_factory=list[ReportedViolation])
    errors: list[str] = field(default_factory=list[str])
    finished: bool = False
    result: str = ""
    untold: int = 0
    odd: dict[str, None] = field(default_factory=dict[str, None])
    without_engine: bool = False
    omitted: list[str] = field(default_factory=list[str])
    changed_files: list[str] = field(default_factory=list[str])
    not_checked: dict[str, str] = field(default_factory=dict[str, str])

    _seen: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    _operations: dict[str, str] = field(default_factory=dict[str, str])
    _steps: Counter[str] = field(default_factory=Counter[str])

    def take(self, event: Mapping[str, Any]) -> None:
        """Add one event."""
        if self.finished and any(event.get(kind) for kind in (*_BY_URN, "summaryEvent")):
            self.odd["something follows the engine's summary"] = None
        self._take(event)

    def _take(self, event: Mapping[str, Any]) -> None:
        if step := event.get("resourcePreEvent"):
            self._take_step(step["metadata"])
        elif step := event.get("resOutputsEvent"):
            self._take_outputs(step["metadata"])
        elif analysed := event.get("policyAnalyzeSummaryEvent"):
            self.judgements.append(_judgement(analysed))
        elif analysed := event.get("policyAnalyzeStackSummaryEvent"):
            self.stack_judgements.append(_judgement(analysed))
        elif violation := event.get("policyEvent"):
            self.violations.append(reported_violation(violation))
        elif remediation := event.get("policyRemediationEvent"):
            self.remediations.append(reported_violation(remediation))
        elif (diagnostic := event.get("diagnosticEvent")) and diagnostic["severity"] == "error":
            self.errors.append(str(diagnostic["message"]).strip())
        elif (summary := event.get("summaryEvent")) is not None:
            self.finished = True
            self.result = str(summary.get("result", ""))
            counted = Counter(summary.get("resourceChanges") or {})
            self.untold = (counted - self._steps).total()
            if summary.get("resourceChanges") and self._steps - counted:
                self.odd["the engine's summary counts fewer steps"] = None

    @property
    def is_of_a_program(self) -> bool:
        """True if a program declares the stack: a destroyed stack has no resources left."""
        found = (*self.resources, *(said.urn for said in self.judgements))
        return any(urn.split("::", 3)[2:3] == [_STACK_TYPE] for urn in found)

    def forget(self, pack: str) -> None:
        """Ignore the results of a pack, and the engine's failure for them."""
        self.judgements = [said for said in self.judgements if said.pack != pack]
        self.stack_judgements = [said for said in self.stack_judgements if said.pack != pack]
        self.violations = [said for said in self.violations if said.pack != pack]
        self.remediations = [said for said in self.remediations if said.pack != pack]

    def _take_outputs(self, metadata: Mapping[str, Any]) -> None:
        found: Mapping[str, Any] = metadata.get("new") or {}
        self.outputs[metadata["urn"]] = found.get("outputs") or {}

    def _take_step(self, metadata: Mapping[str, Any]) -> None:
        urn: str = metadata["urn"]
        if not self.stack:
            self.stack = urn.partition("::")[0].rpartition(":")[2]
        if metadata["op"] not in CHECKED_OPERATIONS | _OTHER_OPERATIONS:
            self.odd[f"the engine has no step {metadata['op']!r}"] = None
        if (urn, metadata["op"]) in self._seen:
            self.odd[f"a step is reported twice, {metadata['op']} of {urn}"] = None
        self._seen.add((urn, metadata["op"]))
        if metadata.get("logical"):  # what the summary counts
            self._steps[metadata["op"]] += 1
        if metadata["op"] in CHECKED_OPERATIONS:
            self.resources[urn] = metadata.get("new") or {}
            self._operations[urn] = metadata["op"]
        if metadata["op"] == "same" and not self._can_be_in_state(metadata):
            self.omitted.append(urn)

    def _can_be_in_state(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether a state can contain a resource that its step reports as the same.

        Of a new resource that a targeted preview omits the engine says so too, with a copy of what the
        program requests in the place of its state: without an id, or below what is itself still to be made.
        """
        old: Mapping[str, Any] | None = metadata.get("old")
        if old is None or (old.get("custom") and not old.get("id")):
            return False
        return self._operations.get(old.get("parent", "")) != "create"


def read_record(
    lines: Iterable[str | bytes], source: str, on_event: Callable[[Mapping[str, Any]], None] | None = None
) -> Record:
    """Read the events of one run.

    Args:
        lines: one event each, as text.
        source: what they are called in errors.
        on_event: receives each event that is read, for progress.

    Raises:
        NoEventsError: There are none.
        GateError: They are no streaming events of the engine.
    """
    record = Record()

    def take(event: Mapping[str, Any]) -> None:
        record.take(event)
        if on_event is not None:
            on_event(event)

    try:
        count = take_events(lines, source, take)
    except NoEngineEventsError as problem:
        raise GateError(str(problem)) from None
    if not count:
        raise NoEventsError(f"{source} is empty: no preview wrote its events there; {FIX}")
    return record


def _judgement(event: Mapping[str, Any]) -> Judgement:
    return Judgement(
        urn=event.get("resourceUrn", ""),
        pack=event["policyPackName"],
        version=event.get("policyPackVersion", ""),
        rules=frozenset([*(event.get("passed") or ()), *(event.get("failed") or ())]),
        failed=frozenset(event.get("failed") or ()),
    )
