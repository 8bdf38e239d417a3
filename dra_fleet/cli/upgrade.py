"""`dra-fleet upgrade`: list the steps from the versions of a stack to later ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dra_fleet.cli.command import Json, Stack, examples
from dra_fleet.cli.output import new_table, print_json, print_table, stdout_console

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dra_fleet.core.transitions import Verdict
    from dra_fleet.fleet.upgrades import UpgradeStep

CODES: dict[Verdict, int] = {"safe": 0, "manual": 10, "blocked": 1}
"""Exit code by the worst verdict; `dra-fleet review` has the same."""

STYLES: dict[Verdict, str] = {"safe": "green", "manual": "yellow", "blocked": "red"}

EXAMPLES = examples(
    ("a later Kubernetes version", "dra-fleet upgrade prod --to kubernetes=1.38"),
    ("a driver and the GPU Operator", "dra-fleet upgrade prod --to nvidia=0.5.0 --to gpu-operator=v26.7.0"),
    ("another MIG layout", "dra-fleet upgrade prod --to mig=3g.20gb:2"),
    (
        "accept a step that no source describes",
        "dra-fleet upgrade prod --to nvidia=25.12.0 --accept nvidia:25.8.1-25.12.0",
    ),
    more="Exit code: 0 every step is safe, 10 at least one step is manual, 1 at least one step is blocked.",
)


def upgrade(
    stack: Stack,
    to: Annotated[
        list[str],
        typer.Option(
            "--to",
            metavar="NAME=VERSION",
            help="kubernetes, mig, a driver or a release, and its version (can be repeated).",
        ),
    ],
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="STEP", help="Accept an unknown step by name (can be repeated)."),
    ] = None,
    json: Json = False,
) -> None:
    """List the steps of an upgrade in order, each with a verdict, its source and what to do (read-only).

    Verdicts: safe: one deployment, and running pods keep their devices. manual: do the listed steps.
    blocked: impossible, or no source describes the step.
    """
    from dra_fleet.fleet import SettingsInvalid, read_stack_file
    from dra_fleet.fleet.plan import make_plan
    from dra_fleet.fleet.upgrades import upgrade_path, worst
    from dra_fleet.rehearsal.project import stack_file

    name, file = stack_file(stack)
    read = read_stack_file(file)
    try:
        plan = make_plan(read.settings)
    except SettingsInvalid as invalid:
        raise read.located(invalid) from None
    path = upgrade_path(plan, _targets(to), accept or ())
    verdict = worst(path)
    if json:
        print_json({"stack": name, "verdict": verdict, "steps": [step.as_json() for step in path]})
    else:
        _show(name, path)
    if code := CODES[verdict]:
        raise typer.Exit(code)


def _targets(words: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        subject, equals, version = word.partition("=")
        if not (subject and equals and version):
            example = f"kubernetes={word}" if word[:1].isdigit() else "nvidia=0.5.0"
            raise typer.BadParameter(f"{word} is not NAME=VERSION, such as {example}", param_hint="--to")
        found[subject] = version
    return found


def _show(stack: str, path: Sequence[UpgradeStep]) -> None:
    from rich.text import Text

    if not path:
        typer.echo(f"stack {stack}: nothing to upgrade")
        return
    table = new_table(f"Upgrade of stack {stack}")
    for heading in ("", "Cluster", "Step", "Verdict", "Reason"):
        table.add_column(heading, overflow="fold")
    for number, step in enumerate(path, 1):
        verdict = Text(step.verdict, style=STYLES[step.verdict])
        table.add_row(str(number), Text(step.cluster), Text(step.name), verdict, Text(step.reason))
    console = stdout_console()
    print_table(console, table)
    alike: dict[tuple[str, tuple[str, ...]], list[UpgradeStep]] = {}
    for step in path:
        alike.setdefault((step.name, step.notes), []).append(step)
    for (name, notes), steps in alike.items():
        clusters = ", ".join(step.cluster for step in steps)
        console.print(f"{name} ({clusters})", markup=False, soft_wrap=True)
        for line in (*steps[0].steps, *(f"note: {note}" for note in notes), _source(steps[0])):
            console.print(f"  - {line}", markup=False, soft_wrap=True)


def _source(step: UpgradeStep) -> str:
    if step.is_unknown and step.verdict == "blocked":
        return f"to accept the step: --accept {step.name}"
    return f"source: {step.source}" if step.source else "source: none"
