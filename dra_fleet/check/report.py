"""A check as code hosts show it beside a change: SARIF, and the annotations of GitHub's workflows."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from dra_fleet.check.exemptions import RULES
from dra_fleet.core.findings.sarif import SarifResult, SarifRule, SarifRun, sarif

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dra_fleet.core.findings.finding import FileFinding

_TOOL: Final = "dra-fleet"


def to_sarif(
    findings: Iterable[FileFinding], stack: str, own: Mapping[str, str] | None = None
) -> dict[str, object]:
    """Return the findings as one SARIF log; `own` are custom rules, each with its subject."""
    run = SarifRun(
        tool=_TOOL,
        version=version(_TOOL),
        rules=tuple(
            SarifRule(name=name, description=text, level="error")
            for name, text in {**RULES, **(own or {})}.items()
        ),
        category=f"dra-fleet-check/{stack}",
    )
    results = [
        SarifResult(
            rule=finding.rule,
            level=finding.severity,
            message=finding.sentence,
            names=(f"{finding.object} {finding.path}".strip(),),
            file=finding.file,
            line=finding.line,
            identity=(finding.file, finding.object, finding.path, finding.what),
            suppressed=finding.exempted,
        )
        for finding in findings
    ]
    return sarif(run, results)


def annotation(finding: FileFinding) -> str:
    """Return a finding as a workflow command.

    Format: https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands.
    """
    where = {"file": finding.file, "line": finding.line, "col": finding.column, "title": finding.rule}
    fields = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in where.items())
    return f"::{finding.severity} {fields}::{_escaped(finding.sentence)}"


def _escaped(text: str, more: str = "") -> str:
    return "".join(f"%{ord(letter):02X}" if letter in f"%\r\n{more}" else letter for letter in text)
