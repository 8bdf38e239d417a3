"""Findings, gravest first: by policies, by the proof, in the stack file, by the engine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dra_fleet.core.findings.errors import ENDINGS, KEY
from dra_fleet.policy.exemptions import without_exemption
from dra_fleet.review.events import counted
from dra_fleet.review.model import Finding, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dra_fleet.core.findings.errors import ReportedViolation
    from dra_fleet.fleet import SettingsInvalid
    from dra_fleet.proof.answer.verdicts import Proof
    from dra_fleet.review.events import Preview
    from dra_fleet.review.model import (
        BlastRadius,
        Change,
        Cost,
        Decision,
        Engine,
        Exposure,
        Money,
        Severity,
        Shared,
        Version,
        Workload,
    )


EXIT_CODES: dict[Decision, int] = {"approve": 0, "person": 10, "refuse": 1}

_GRAVITY: dict[Decision, int] = {"approve": 0, "person": 1, "refuse": 2}

_SUCCEEDED = "succeeded"

_DOUBTFUL = ("possible", "unknown")
"""Verdicts of the proof that stop nothing by themselves; worse ones are mandatory findings."""

_GRAVE = ("critical", "high")

_SUBJECT = re.compile(rf"(?:{KEY})?[^:\n]*")
"""Subject of a sentence: the words before its first colon, or a path of the stack file, which has one."""

_FIX = re.compile(r"\bfix: (?P<fix>.+)", re.IGNORECASE | re.DOTALL)

_SEVERITIES: dict[str, Severity] = {"critical": "critical", "high": "high", "medium": "medium", "low": "low"}

_ORDER = {"critical": 0, "high": 1, "medium": 2, "low": 3}

_MANDATORY = "mandatory"

_UNNAMED: Severity = "high"
"""Severity of a mandatory rule that names none; an advisory rule is then `medium`."""

_EXIT = "an unhandled error occurred: program exited with non-zero exit code"


def findings(
    preview: Preview, proof: Proof | None, invalid: SettingsInvalid | None, warnings: tuple[str, ...]
) -> tuple[Finding, ...]:
    """All findings.

    Args:
        preview: What policies and the engine said.
        proof: The proof, where the stack file is right.
        invalid: Why it is not.
        warnings: The plan's sentences for people.
    """
    found = [_policy(item) for item in preview.violations]
    found += _settings(invalid) if invalid else ()
    found += _proof(proof) if proof else ()
    found += [_sentence("settings", "medium", text) for text in warnings]
    sentence = " ".join(item.message for item in found)
    found += [
        _engine(text)
        for text in preview.errors
        if not text.startswith(_EXIT) and text.strip() not in ENDINGS and not _is_reported(text, sentence)
    ]
    ordered = sorted(found, key=lambda item: (_ORDER[item.severity], item.level != _MANDATORY))
    return tuple(dict.fromkeys(ordered))


def _policy(violation: ReportedViolation) -> Finding:
    mandatory = violation.level == _MANDATORY
    message, exempted = (violation.message, "") if mandatory else without_exemption(violation.message)
    return Finding(
        severity=_SEVERITIES.get(violation.severity, _UNNAMED if mandatory else "medium"),
        level="mandatory" if mandatory else "advisory",
        source="policy",
        rule=violation.rule,
        pack=violation.pack,
        subject=violation.urn.rsplit("::", 1)[-1],
        resource=violation.urn,
        message=message,
        fix=fix_of(message),
        url="",
        exempted=exempted,
    )


def fix_of(message: str) -> str:
    """Return the text after `fix:` in a message; empty without it."""
    found = _FIX.search(message)
    return " ".join(found["fix"].split()) if found else ""


def _settings(invalid: SettingsInvalid) -> Iterator[Finding]:
    for error in invalid.errors:
        yield Finding(
            severity="critical",
            level="mandatory",
            source="settings",
            rule="settings",
            pack="",
            subject=error.path,
            resource="",
            message=str(error),
            fix=error.fix,
            url="",
        )


def _proof(proof: Proof) -> Iterator[Finding]:
    for text in proof.failures:
        yield _sentence("proof", "critical", text)
    for text in proof.warnings:
        yield _sentence("proof", "medium", text)


def _sentence(source: str, severity: Severity, text: str) -> Finding:
    return Finding(
        severity=severity,
        level="mandatory" if severity == "critical" else "advisory",
        source="proof" if source == "proof" else "settings",
        rule=source,
        pack="",
        subject=match[0] if (match := _SUBJECT.match(text)) else "",
        resource="",
        message=text,
        fix=fix_of(text),
        url="",
    )


def _engine(text: str) -> Finding:
    return Finding(
        severity="critical",
        level="mandatory",
        source="engine",
        rule="engine",
        pack="",
        subject="preview",
        resource="",
        message=text,
        fix=fix_of(text),
        url="",
    )


def _is_reported(error: str, sentence: str) -> bool:
    """Return whether an error of the program only repeats the text of the settings or the proof."""
    lines = [line.strip() for line in error.splitlines()[1:] if line.strip()]
    return bool(lines) and lines[0] in sentence


def verdict(reasons: Iterable[Reason]) -> Verdict:
    """Return the gravest of all reasons; without any, approve."""
    ordered = sorted(dict.fromkeys(reasons), key=lambda item: -_GRAVITY[item.decision])
    if not ordered:
        text = "nothing that runs is touched, every claim finds its devices, and no rule is violated"
        ordered = [Reason(decision="approve", text=text, section="changes")]
    decision = ordered[0].decision
    return Verdict(decision=decision, exit_code=EXIT_CODES[decision], reasons=tuple(ordered))


def engine_reasons(engine: Engine, findings: Sequence[Finding]) -> Iterator[Reason]:
    """Yield the reasons of the preview itself and of the findings."""
    mandatory = [item for item in findings if item.level == "mandatory"]
    for item in mandatory:
        yield _refuse(_headline(item), "findings")
    if not engine.result:
        yield _refuse("the events end before the preview did", "engine")
    elif engine.result != _SUCCEEDED and not mandatory:
        yield _refuse("the preview failed", "engine")
    if not engine.packs:
        yield _person("no policy pack checked this preview", "findings")
    grave = [
        item
        for item in findings
        if item.level == "advisory" and item.severity in _GRAVE and not item.exempted
    ]
    for item in grave:
        yield _person(_headline(item), "findings")


def change_reasons(changes: Sequence[Change], blast: BlastRadius, *, clusters: int = 1) -> Iterator[Reason]:
    """Whom the changes hit; with several clusters in the stack each says which one."""
    for name in blast.refused_by_protection:
        yield _refuse(f"{name} is protected and would be replaced or deleted", "blast")
    for item in changes:
        if item.weight != "ordinary":
            where = f"cluster {item.cluster}: " if clusters > 1 and item.cluster else ""
            yield _person(f"{where}{item.text}", "changes")
    if blast.claims:
        unit = "running claim loses its device" if blast.claims == 1 else "running claims lose their device"
        yield _person(f"{blast.claims} {unit}", "blast")


def fleet_reasons(
    workloads: Sequence[Workload],
    versions: Sequence[Version],
    sharing: Sequence[Shared],
    exposure: Sequence[Exposure],
) -> Iterator[Reason]:
    """Yield the reasons of the future fleet that require approval."""
    for item in workloads:
        if item.word in _DOUBTFUL and not item.accepted:
            yield _person(f"workload {item.name} is {item.word}: {item.reason}", "workloads")
    for version in versions:
        if version.status == "ended":
            yield _person(
                f"cluster {version.cluster}: {version.component} {version.version} has had no support "
                f"by {version.by} since {version.supported_until}",
                "versions",
            )
    for shared in sharing:
        if not shared.isolated and not shared.accepted:
            yield _person(f"{shared.kind} {shared.name} shares devices by {shared.strategy}", "sharing")
    for fact in exposure:
        if fact.level == "warning":
            yield _person(f"cluster {fact.cluster}: {fact.subject}: {fact.text}", "exposure")


def cost_reasons(cost: Cost, bought: int) -> Iterator[Reason]:
    """More money, or machines whose price is not known.

    Args:
        cost: What the fleet costs.
        bought: Nodes of unknown price that the change adds at most, of clouds that send a bill.
    """
    for when, before, after in (("", cost.now, cost.after), (" at most", cost.at_max_before, cost.at_max)):
        if _known(after) > _known(before):
            yield _person(
                f"costs {_dollars(after)} per hour{when}, {_dollars(before)} as it was{_partly(after)}",
                "cost",
            )
    if bought > 0:
        yield _person(f"adds up to {counted(bought, 'node')} of unknown price", "cost")


def _known(money: Money) -> float:
    return money.amount or 0.0


def _dollars(money: Money) -> str:
    return f"{_known(money):,.2f} $"


def _partly(money: Money) -> str:
    return f", and {counted(money.unknown_nodes, 'node')} of unknown price" if money.unknown_nodes else ""


def _headline(item: Finding) -> str:
    """Return the first line of a finding, without its rule or part of the stack file."""
    about = item.subject.removeprefix(f"{KEY}.") if item.subject.startswith(KEY) else item.rule
    return f"{about}: {next(iter(item.sentence.strip().splitlines()), '')}"


def _refuse(text: str, section: str) -> Reason:
    return Reason(decision="refuse", text=text, section=section)


def _person(text: str, section: str) -> Reason:
    return Reason(decision="person", text=text, section=section)
