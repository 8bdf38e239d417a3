"""What was found wrong, gravest first: by policies, by the proof, in the stack file, by the engine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dra_fleet.core.findings.errors import KEY
from dra_fleet.policy.exemptions import without_exemption
from dra_fleet.review.model import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.findings.reported import ReportedViolation
    from dra_fleet.fleet import SettingsInvalid
    from dra_fleet.proof.answer.verdicts import Proof
    from dra_fleet.review.events import Preview
    from dra_fleet.review.model import Severity

_SUBJECT = re.compile(rf"(?:{KEY})?[^:\n]*")
"""What a sentence is about: the words before its first colon, or a path of the stack file, which has one."""
_FIX = re.compile(r"\bfix: (?P<fix>.+)", re.IGNORECASE | re.DOTALL)
_SEVERITIES: dict[str, Severity] = {"critical": "critical", "high": "high", "medium": "medium", "low": "low"}
_ORDER = {"critical": 0, "high": 1, "medium": 2, "low": 3}
_MANDATORY = "mandatory"
_UNNAMED: Severity = "high"
"""Of a mandatory rule that names no severity; an advisory one is then `medium`."""
_EXIT = "an unhandled error occurred: program exited with non-zero exit code"


def findings(
    preview: Preview,
    proof: Proof | None,
    invalid: SettingsInvalid | None,
    warnings: tuple[str, ...],
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
    told = " ".join(item.message for item in found)
    found += [
        _engine(text) for text in preview.errors if not text.startswith(_EXIT) and not _is_told(text, told)
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
    """What a message says after `fix:`, to the end of it; empty where it says none."""
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


def _is_told(error: str, told: str) -> bool:
    """Whether an error of the program only repeats the text of the settings or the proof."""
    lines = [line.strip() for line in error.splitlines()[1:] if line.strip()]
    return bool(lines) and lines[0] in told
