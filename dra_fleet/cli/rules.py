"""`dra-fleet rules`: list, show and test policy rules."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads it
from typing import Annotated

import typer

from dra_fleet.cli.command import FleetCommand, FleetGroup, Json, examples
from dra_fleet.cli.output import new_table, print_json, print_table, stdout_console

app = typer.Typer(
    cls=FleetGroup,
    help="List and show policy rules; test custom rules for `gate --rules DIR`.",
    no_args_is_help=True,
)


@app.command(
    "list",
    cls=FleetCommand,
    epilog=examples(("names and levels, for a script", "dra-fleet rules list -o json")),
)
def list_rules(json: Json = False) -> None:
    """List the rules of the policy pack with their levels in each preset."""
    from dra_fleet.policy.pack import RULES

    rows = [
        {
            "name": rule.name,
            "standard": rule.level("standard"),
            "production": rule.level("production"),
            "severity": rule.severity,
        }
        for rule in RULES
    ]
    if json:
        print_json({"rules": rows})
        return
    table = new_table("Rules")
    for heading in ("Rule", "Standard", "Production", "Severity"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*row.values())
    print_table(stdout_console(), table)


@app.command(
    "show", cls=FleetCommand, epilog=examples(("one rule", "dra-fleet rules show claim-limit-count"))
)
def show(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Name of a rule.")], json: Json = False
) -> None:
    """Describe a rule: what it requires, its levels, fix and parameters."""
    from dra_fleet.core.findings.errors import mistyped
    from dra_fleet.policy.docs import section
    from dra_fleet.policy.pack import RULES

    found = next((item for item in RULES if item.name == rule), None)
    if found is None:
        fix = mistyped(rule, [item.name for item in RULES]) or "list the rules: dra-fleet rules list"
        raise typer.BadParameter(f"unknown rule {rule!r}; {fix}", param_hint="RULE")
    if json:
        parameters = {item.name: item.description for item in found.parameters}
        print_json(
            {
                "name": found.name,
                "description": found.description,
                "standard": found.level("standard"),
                "production": found.level("production"),
                "severity": found.severity,
                "fix": found.fix,
                "link": found.link,
                "parameters": parameters,
            }
        )
    else:
        typer.echo(section(found).strip())


@app.command(
    "test",
    cls=FleetCommand,
    epilog=examples(
        ("rules with cases in rules/cases", "dra-fleet rules test rules"),
        ("cases in another folder", "dra-fleet rules test rules --cases tests/rules"),
        more="Exit code: 0 all rules passed, 1 a rule failed or cannot be loaded.",
    ),
)
def run_cases(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with files of rules.")],
    cases: Annotated[
        Path | None,
        typer.Option(
            "--cases",
            metavar="DIR",
            help="Folder of the cases, in files named like the rules. Default: DIR/cases.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run the cases of custom rules: passing values, each finding, unknown and secret values."""
    from dra_fleet.policy.rule_cases import broken_contract
    from dra_fleet.policy.rule_files import CASES, RULES_FOLDER, load_cases, load_rules

    rules = load_rules(folder)
    if folder.resolve() != RULES_FOLDER:
        load_rules(RULES_FOLDER, folder)  # rejects two rules with the same name
    found = {rule.name: broken_contract(rule, load_cases(rule, cases or folder / CASES)) for rule in rules}
    wrong = sum(map(bool, found.values()))
    if json:
        print_json({"rules": found, "passed": not wrong})
    else:
        for name, problems in found.items():
            typer.echo(f"{name}: {'passed' if not problems else 'failed'}")
            for problem in problems:
                typer.echo(f"  {problem}")
        typer.echo(f"{len(found)} rules, {wrong} failed")
    if wrong:
        raise typer.Exit(1)
