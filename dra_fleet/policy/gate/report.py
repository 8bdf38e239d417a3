"""A verdict as SARIF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.findings.sarif import SarifResult, SarifRule, SarifRun, sarif
from dra_fleet.policy import pack

if TYPE_CHECKING:
    from dra_fleet.findings.sarif import Level as SarifLevel
    from dra_fleet.policy.gate.verdict import Verdict
    from dra_fleet.policy.rule import Preset, Rule

LINK: Final = "https://www.pulumi.com/docs/iac/crossguard/"
_FILE: Final = "Pulumi.yaml"
"""The engine's events name no line of a program; code hosts want a file all the same."""


def to_sarif(verdict: Verdict) -> dict[str, object]:
    """The verdict as a SARIF log; each problem makes its run unsuccessful."""
    run = SarifRun(
        tool=pack.NAME,
        version=pack.VERSION,
        link=LINK,
        rules=tuple(_rule(rule, verdict.preset) for rule in pack.RULES),
        category=f"dra-fleet-gate/{verdict.stack}",
        failures=verdict.problems,
    )
    results = [
        SarifResult(
            rule=finding.rule,
            level="error" if finding.level == "mandatory" else "warning",
            message=finding.message,
            names=(finding.urn,),
            file=_FILE,
            identity=(finding.urn, finding.message),
        )
        for finding in verdict.findings
    ]
    return sarif(run, results)


def _rule(rule: Rule, preset: Preset) -> SarifRule:
    levels: dict[str, SarifLevel] = {"disabled": "none", "advisory": "warning"}
    return SarifRule(
        name=rule.name,
        description=rule.description,
        help=rule.fix,
        link=rule.link,
        level=levels.get(rule.level(preset), "error"),
        severity=rule.severity,
        tags=(rule.severity,),
    )
