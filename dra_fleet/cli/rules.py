"""`dra-fleet rules`: a team's own rules, held to what every rule is held to."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads it
from typing import Annotated

import typer

from dra_fleet.cli.command import FleetCommand, FleetGroup, examples
from dra_fleet.cli.output import print_json

app = typer.Typer(
    cls=FleetGroup,
    help="Rules of your own: files like those in policies/rules, which `gate --rules DIR` has judge too.",
    no_args_is_help=True,
)


@app.command(
    "test",
    cls=FleetCommand,
    epilog=examples(
        ("rules, and their cases in rules/cases", "dra-fleet rules test rules"),
        ("cases elsewhere", "dra-fleet rules test rules --cases tests/rules"),
        more="Exit codes: 0 all rules hold; 1 one does not, or cannot be loaded.",
    ),
)
def run_cases(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of rules, a file each.")],
    cases: Annotated[
        Path | None,
        typer.Option(
            "--cases",
            metavar="DIR",
            help="Their cases, in files of the same names; default: the folder cases among the rules.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
) -> None:
    """Run the cases of rules: what passes, each break in its exact words, unknown and secret values."""
    from dra_fleet.policy.rule_contract import broken_contract
    from dra_fleet.policy.rule_files import CASES, RULES_FOLDER, load_cases, load_rules

    rules = load_rules(folder)
    if folder.resolve() != RULES_FOLDER:
        load_rules(RULES_FOLDER, folder)  # two rules of one name
    beside = cases or folder / CASES
    found = {rule.name: broken_contract(rule, load_cases(rule, beside)) for rule in rules}
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
