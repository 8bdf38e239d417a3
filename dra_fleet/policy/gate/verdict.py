"""The gate's verdict: it passes only where the whole pack checked everything, and found nothing mandatory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct
from msgspec.structs import asdict, replace

from dra_fleet.core.findings.errors import ENDINGS
from dra_fleet.core.yaml_text import Unreadable, read_json_file
from dra_fleet.policy import pack
from dra_fleet.policy.exemptions import exemption_of, today
from dra_fleet.policy.gate.errors import NOT_PROVED, GateError
from dra_fleet.policy.pack import PACK_ONLY, Policies
from dra_fleet.policy.rule import StackRule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from dra_fleet.core.findings.errors import ReportedViolation
    from dra_fleet.policy.exemptions import Exemption
    from dra_fleet.policy.gate.record import Judgement, Record
    from dra_fleet.policy.rule import Level, Preset, Rule, Severity


_RULE: Final = "rule"

_URN: Final = "urn"

_MESSAGE: Final = "message"

_WRITE: Final = "fix: write it with --write-baseline"

_RUN_PACK: Final = (
    "run the preview with --policy-pack and this pack's run-pack, or use `dra-fleet gate STACK`"
)

PASSED: Final = 0

FOUND: Final = 1

"""Exit codes; 2 is the command line's own for wrong usage."""

_STOPPING: Final[frozenset[Level | None]] = frozenset({"mandatory", "remediate"})


class GateFinding(Struct, frozen=True, kw_only=True):
    """A violation with the level that counts: the gate's own, whatever the policy config made of it.

    Attributes:
        exempted: the valid exemption that covers it.
        known: a baseline lists it.
    """

    rule: str
    pack: str
    level: Level
    severity: Severity
    message: str
    urn: str
    exempted: Exemption | None = None
    known: bool = False

    @property
    def stops(self) -> bool:
        """True if the finding fails the gate."""
        return self.level == "mandatory" and not self.known

    @property
    def title(self) -> str:
        """The rule's name, after its pack's where that is another."""
        return self.rule if self.pack == pack.NAME else f"{self.pack}/{self.rule}"


class GateVerdict(Struct, frozen=True, kw_only=True):
    """Result of a gate.

    Attributes:
        findings: violations, gravest first.
        problems: why the absence of findings proves nothing; any of them fails the gate.
        exempted: rules that would have been mandatory and were exempt by name.
        remediated: corrections that the pack made to resources.
        resources: how many resources were checked.
        ran: the rules that checked.
        rules: all rules of the pack, a team's own among them.
        idle: exemptions that are about nothing that was found.
        baseline: findings were compared with a baseline.
        gone: what the baseline lists and was not found.
        without_engine: the rules checked saved events, not within the engine.
        of_project: how many rules and exemptions the project names itself; None if the pipeline did
            not ask for them.
    """

    stack: str
    preset: Preset
    findings: tuple[GateFinding, ...]
    problems: tuple[str, ...]
    exempt: tuple[str, ...]
    remediated: tuple[ReportedViolation, ...]
    resources: int
    ran: frozenset[str]
    rules: tuple[Rule, ...] = pack.RULES
    idle: tuple[Exemption, ...] = ()
    baseline: bool = False
    gone: tuple[str, ...] = ()
    without_engine: bool = False
    of_project: tuple[int, int] | None = None

    @property
    def mandatory(self) -> int:
        """Number of findings that stop the gate."""
        return sum(finding.stops for finding in self.findings)

    @property
    def exempted(self) -> int:
        """Number of findings that an exemption covers."""
        return sum(finding.exempted is not None for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """0 passed, 1 mandatory findings, 3 not checked completely."""
        if self.problems:
            return NOT_PROVED
        return FOUND if self.mandatory else PASSED

    def to_json(self) -> dict[str, object]:
        """Return the verdict as documented for scripts."""
        return {
            "stack": self.stack,
            "preset": self.preset,
            "passed": self.exit_code == PASSED,
            "exitCode": self.exit_code,
            "resources": self.resources,
            "rules": len(self.ran),
            "withoutEngine": self.without_engine,
            "projectPolicies": None
            if self.of_project is None
            else dict(zip(("rules", "exemptions"), self.of_project, strict=True)),
            "exempted": self.exempted,
            "problems": list(self.problems),
            "letOff": list(self.exempt),
            "findings": [_plain(finding) for finding in self.findings],
            "idleExemptions": [_plain_exemption(found) for found in self.idle],
            "gone": list(self.gone),
            "remediated": [{"rule": item.rule, "urn": item.urn} for item in self.remediated],
        }


class Expected(Struct, frozen=True, kw_only=True):
    """Rules that must have run: this pack's mandatory rules in the preset, except those exempt by name."""

    preset: Preset
    without: frozenset[str] = frozenset()
    policies: Policies = PACK_ONLY

    def rule(self, name: str) -> Rule | None:
        """Return the rule of this pack with this name."""
        return next((rule for rule in self.policies.rules if rule.name == name), None)

    def exempted(self, violation: ReportedViolation) -> Exemption | None:
        """Return the valid exemption for a violation of this pack's rules."""
        found = exemption_of(self.policies.exemptions, violation.rule, violation.urn)
        mine = violation.pack == pack.NAME
        return found if mine and found is not None and found.holds(today()) else None

    def level(self, rule: str) -> Level | None:
        """Return the effective level of a rule of this pack; None for a rule of another pack."""
        found = self.rule(rule)
        if found is None:
            return None
        level = found.level(self.preset)
        return "advisory" if rule in self.without and level in _STOPPING else level

    def takes_advice(self, violation: ReportedViolation) -> bool:
        """Return whether the rule's severity makes this violation advice, and the preset allows that."""
        rule = self.rule(violation.rule)
        if not isinstance(rule, StackRule) or rule.advises is None or violation.severity != "low":
            return False
        return not (self.preset == "production" and rule.production_parameters)

    def mandatory(self, *, stack: bool) -> list[str]:
        """List the names of the stack rules or the resource rules that must have run."""
        return [
            rule.name
            for rule in self.policies.rules
            if isinstance(rule, StackRule) is stack and self.level(rule.name) in _STOPPING
        ]


_SEVERITIES: Final[Mapping[str, int]] = {"critical": 0, "high": 1, "medium": 2, "low": 3}


def check(record: Record, expected: Expected) -> GateVerdict:
    """Compare what ran with what must have run, and weigh what was found."""
    findings = sorted(
        (_finding(violation, expected) for violation in record.violations),
        key=lambda finding: (finding.level != "mandatory", _SEVERITIES[finding.severity]),
    )
    mine = [item for item in record.judgements if item.pack == pack.NAME]
    stack = [item for item in record.stack_judgements if item.pack == pack.NAME]
    problems = [*incomplete(record, expected, mine, stack)]
    lowered = {
        violation.rule
        for violation in record.violations
        if violation.pack == pack.NAME
        and violation.level != "mandatory"
        and expected.level(violation.rule) == "mandatory"
        and not expected.takes_advice(violation)
        and expected.exempted(violation) is None
    }
    problems += [
        f"the rule {rule} is mandatory in the preset {expected.preset}, and a policy config lowered it; "
        f"fix: take it out of the policy config, or let it off by name: --without {rule}"
        for rule in sorted(lowered)
    ]
    problems += [
        f"the rule {rule} cannot be checked without an engine, because saved events report no options: "
        f"{shown}; "
        f"fix: run the preview with the pack, or let the rule off by name: --without {rule}"
        for rule, shown in record.not_checked.items()
        if expected.level(rule) in _STOPPING
    ]
    return GateVerdict(
        stack=record.stack,
        preset=expected.preset,
        findings=tuple(findings),
        problems=tuple(problems),
        exempt=tuple(sorted(expected.without)),
        remediated=tuple(record.remediations),
        resources=len({item.urn for item in mine}),
        ran=frozenset(rule for item in (*mine, *stack) for rule in item.rules),
        rules=expected.policies.rules,
        idle=tuple(
            exemption
            for exemption in expected.policies.exemptions
            if not any(
                exemption.covers(found.rule, found.urn) for found in findings if found.pack == pack.NAME
            )
        ),
        without_engine=record.without_engine,
        of_project=expected.policies.of_project,
    )


def _finding(violation: ReportedViolation, expected: Expected) -> GateFinding:
    rule = expected.rule(violation.rule) if violation.pack == pack.NAME else None
    exempted = expected.exempted(violation)
    level: Level = "mandatory" if violation.level == "mandatory" else "advisory"
    severity: Severity = "high" if level == "mandatory" else "low"
    if violation.severity in _SEVERITIES:
        severity = violation.severity  # pyright: ignore[reportAssignmentType] - a severity, just looked up
    if rule is not None and expected.level(rule.name) in _STOPPING and not expected.takes_advice(violation):
        level = "mandatory"
    elif rule is not None and rule.name in expected.without:
        level = "advisory"
    if exempted is not None:
        level = "advisory"
    return GateFinding(
        rule=violation.rule,
        pack=violation.pack,
        level=level,
        severity=severity,
        message=violation.message,
        urn=violation.urn,
        exempted=exempted,
    )


def _plain(finding: GateFinding) -> dict[str, object]:
    shown: dict[str, object] = {**asdict(finding), "exempted": None}
    if finding.exempted is not None:
        shown["exempted"] = _plain_exemption(finding.exempted)
    return shown


def _plain_exemption(exemption: Exemption) -> dict[str, str]:
    return {name: str(value) for name, value in asdict(exemption).items()}


def incomplete(
    record: Record, expected: Expected, mine: Collection[Judgement], stack: Collection[Judgement]
) -> Iterable[str]:
    """Yield the reasons why the absence of findings proves nothing.

    Args:
        record: the engine's record.
        expected: what must have run.
        mine: that this pack checked a resource.
        stack: that it checked the stack.
    """
    if not record.finished:
        yield (
            "the events end before the engine's summary: the preview was stopped, or it crashed; "
            "fix: run it again to its end"
        )
    yield from _failed(record)
    yield from _partial(record)
    yield from _untold(record)
    if record.finished and not record.is_of_a_program:
        yield (
            "no event reports the stack itself, which every program requests: these are not the events of a "
            "preview of the program, but of a destroy or a refresh, or lines are missing; "
            "fix: give all events of `pulumi preview`, as they were printed"
        )
    if not mine and not stack:
        others = sorted({item.pack for item in record.judgements})
        shown = f"; packs that ran: {', '.join(others)}" if others else ""
        yield f"the policy pack {pack.NAME} did not run{shown}; fix: {_RUN_PACK}"
        return
    versions = sorted({item.version for item in (*mine, *stack)} - {pack.VERSION})
    if versions:
        yield (
            f"the policy pack {pack.NAME} ran as {', '.join(versions)}, and this is {pack.VERSION}; "
            "fix: check with the pack that ran"
        )
    yield from _missing(expected.mandatory(stack=False), mine)
    if not stack:
        yield (
            "the rules on the whole stack did not run; the engine runs them when the program has ended "
            "without an error; fix: fix what stopped the preview, see its errors"
        )
    else:
        yield from _missing(expected.mandatory(stack=True), stack)
    checked = {item.urn for item in mine}
    left = [urn for urn in record.resources if urn not in checked]
    if left:
        yield (
            f"{len(left)} of {len(record.resources)} resources were not checked, the first is {left[0]}; "
            "fix: run the preview again, without --target"
        )


def _partial(record: Record) -> Iterable[str]:
    """Yield each sign that the program or the pack is not complete."""
    if record.omitted:
        yield (
            f"the preview left {len(record.omitted)} resources out, the first is {record.omitted[0]}: "
            "it is said to stay the same, and no state holds it; "
            "fix: preview the whole stack, without --target and --exclude"
        )
    if record.changed_files:
        yield (
            f"{len(record.changed_files)} files of the pack changed during the preview, the first is "
            f"{record.changed_files[0]}; fix: find out who changed it, and check with an unchanged pack"
        )


def _untold(record: Record) -> Iterable[str]:
    """Events that must have been there, as the others say."""
    fix = "lines are missing; fix: give all events of the preview, as they were printed"
    if record.untold:
        yield f"the engine's summary counts {record.untold} steps that no event reports: {fix}"
    for odd in record.odd:
        yield f"{odd}: no preview says that; fix: give the events of one preview, once, as they were printed"
    shown = {(said.rule, said.urn) for said in record.violations if said.pack == pack.NAME}
    shown |= {(rule, "") for rule, _ in shown}
    for checked in (*record.judgements, *record.stack_judgements):
        for rule in sorted(checked.failed) if checked.pack == pack.NAME else ():
            if (rule, checked.urn) not in shown:
                where = checked.urn or "the stack"
                yield f"the rule {rule} found something on {where}, and no event reports what: {fix}"


def _missing(rules: Iterable[str], judgements: Collection[Judgement]) -> Iterable[str]:
    for rule in rules:
        without = [item.urn for item in judgements if rule not in item.rules]
        if without:
            where = (
                "the stack"
                if not without[0]
                else f"{len(without)} of {len(judgements)} resources, the first is {without[0]}"
            )
            yield (
                f"the rule {rule} is mandatory, and did not check {where}: "
                "it is disabled by a policy config, or missing from the pack; "
                "fix: take it out of the policy config, or let it off by name: "
                f"--without {rule}"
            )


def _failed(record: Record) -> Iterable[str]:
    for error in dict.fromkeys(record.errors):
        if error not in ENDINGS:
            yield f"the preview failed: {error}"


def baseline_text(verdict: GateVerdict) -> str:
    """Return the baseline file, which lists the findings that now stop a gate."""
    keys = sorted({_key(finding) for finding in verdict.findings if finding.stops})
    listed = [dict(zip((_RULE, _URN, _MESSAGE), key, strict=True)) for key in keys]
    return json.dumps({"stack": verdict.stack, "findings": listed}, indent=2) + "\n"


def against_baseline(verdict: GateVerdict, path: Path) -> GateVerdict:
    """Mark the findings that a baseline lists as known, and report the listed ones that were not found.

    Raises:
        GateError: the file cannot be read, is not a baseline, or is another stack's.
    """
    listed = _read(path, verdict.stack)
    findings = [replace(found, known=found.stops and _key(found) in listed) for found in verdict.findings]
    there = {_key(finding) for finding in verdict.findings}
    gone = tuple(f"{rule}: {message}" for rule, urn, message in listed if (rule, urn, message) not in there)
    ordered = sorted(findings, key=lambda found: (not found.stops, found.level != "mandatory"))
    return replace(verdict, findings=tuple(ordered), baseline=True, gone=gone)


def _key(finding: GateFinding) -> tuple[str, str, str]:
    return finding.title, finding.urn, finding.message


def _read(path: Path, stack: str) -> list[tuple[str, str, str]]:
    try:
        content: object = read_json_file(path)
    except OSError as problem:
        raise GateError(f"{path}: the baseline cannot be read: {problem.strerror}; {_WRITE}") from None
    except Unreadable as problem:
        raise GateError(f"{path}: {problem}; {_WRITE}") from None
    saved: Mapping[str, Any] = cast("Mapping[str, Any]", content) if isinstance(content, dict) else {}
    findings: object = saved.get("findings")
    if not isinstance(findings, list) or not all(map(_is_finding, cast("list[object]", findings))):
        raise GateError(f"{path}: is not a baseline; {_WRITE}")
    if saved.get("stack") != stack:
        raise GateError(
            f"{path}: is the baseline of the stack {saved.get('stack')}, and this is {stack}; {_WRITE}"
        )
    return [(one[_RULE], one[_URN], one[_MESSAGE]) for one in cast("list[dict[str, str]]", findings)]


def _is_finding(value: object) -> bool:
    given: Mapping[str, object] = cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
    return all(isinstance(given.get(name), str) for name in (_RULE, _URN, _MESSAGE))
