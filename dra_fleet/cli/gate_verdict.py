"""How `dra-fleet gate` prints its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.cli.output import new_table, print_table, stdout_console

if TYPE_CHECKING:
    from dra_fleet.policy.gate.verdict import GateFinding, GateVerdict

WIDE = 90
"""Columns below which a finding is printed as lines, since its sentences would be cut into single words."""
_STYLES = {"mandatory": "bold red", "advisory": "yellow"}


def show(verdict: GateVerdict) -> None:
    """Print a verdict for people."""
    console = stdout_console()
    if verdict.findings:
        table = new_table(f"Findings in the stack {verdict.stack or '(unnamed)'}")
        for heading in ("Level", "Severity", "Rule", "Finding"):
            table.add_column(heading, overflow="fold")
        for finding in verdict.findings:
            table.add_row(
                f"[{_STYLES[finding.level]}]{_level(finding)}[/]",
                finding.severity,
                finding.title,
                finding.message.replace("[", r"\["),
            )
        print_table(console, table, WIDE)
    for item in verdict.remediated:
        console.print(f"corrected by {item.rule}: {item.urn}", markup=False, soft_wrap=True)
    for rule in verdict.let_off:
        found = sum(finding.rule == rule for finding in verdict.findings)
        console.print(f"let off by name: {rule}, {found} findings", markup=False, soft_wrap=True)
    for exemption in verdict.idle:
        console.print(
            f"not needed: {exemption.about} is about nothing that was found; fix: take it out",
            markup=False,
            soft_wrap=True,
        )
    for gone in verdict.gone:
        console.print(f"gone from the baseline: {gone}", markup=False, soft_wrap=True)
    for problem in verdict.problems:
        console.print(f"not judged: {problem}", markup=False, soft_wrap=True)
    known = sum(finding.known for finding in verdict.findings)
    advisory = len(verdict.findings) - verdict.mandatory - known
    console.print(
        f"{'passed' if not verdict.exit_code else 'failed'}: {len(verdict.ran)} rules judged "
        f"{verdict.resources} resource{'' if verdict.resources == 1 else 's'}"
        f"{' without an engine' if verdict.without_engine else ''} with the preset {verdict.preset}; "
        f"{verdict.mandatory} mandatory and {advisory} advisory findings"
        f"{f', {known} in the baseline' if verdict.baseline else ''}",
        markup=False,
        soft_wrap=True,
    )


def _level(finding: GateFinding) -> str:
    if finding.exempted is not None:
        return "exempted"
    return "baseline" if finding.known else finding.level
