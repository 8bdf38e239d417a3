"""`dra-fleet drift`: changes that were made outside the stack."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated

import typer

from dra_fleet.cli.command import Json, Stack, examples
from dra_fleet.cli.output import new_table, print_json, print_table, stdout_console
from dra_fleet.cli.progress import reporting
from dra_fleet.core.places import SELECTED, rehearsed_copy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.review.drift import Drifted

EXAMPLES = examples(
    ("compare a stack with its clouds and clusters", "dra-fleet drift prod"),
    ("for a script", "dra-fleet drift prod -o json"),
    more="Exit code: 0 no drift, 10 drift, 1 not everything could be compared.",
)
DRIFT = 10


def drift(
    stack: Stack,
    cwd: Annotated[
        Path | None,
        typer.Option(
            "--cwd", "-C", metavar="DIR", envvar=SELECTED, help="Pulumi project; default: the current one."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the resources of a stack that were changed or deleted outside it.

    Runs `pulumi refresh --preview-only` with your login. It changes neither the stack's state nor a cloud.
    """
    from dra_fleet.review.drift import RefreshCommand, RunningRefresh
    from dra_fleet.review.request import ENGINE, ReviewRequest

    request = ReviewRequest.of(stack, directory=cwd or rehearsed_copy())
    command = RefreshCommand(
        pulumi=ENGINE,
        stack=request.name,
        directory=request.directory,
        config_file=request.config_file,
        environment=dict(os.environ),
    )
    with (
        reporting() as reporter,
        reporter.step("refresh") as shown,
        RunningRefresh(command, lambda count: shown.update(f"{count} resources")) as engine,
    ):
        found = engine.drifted()
    if json:
        print_json({"stack": request.name, "drifted": [asdict(item) for item in found]})
    else:
        _show(request.name, found)
    if found:
        raise typer.Exit(DRIFT)


def _show(stack: str, found: Sequence[Drifted]) -> None:
    from dra_fleet.review.kinds import counted

    console = stdout_console()
    if not found:
        console.print(f"no drift in stack {stack}", markup=False, soft_wrap=True)
        return
    table = new_table(f"Drift of stack {stack}")
    for heading in ("Resource", "Name", "Property", "Declared", "Found"):
        table.add_column(heading, overflow="fold")
    for item in found:
        for difference in item.differences:
            table.add_row(item.kind, item.id, difference.path, difference.declared, difference.found)
        if not item.differences:
            table.add_row(item.kind, item.id, item.change, "", "")
    print_table(console, table)
    console.print(
        f"{counted(len(found), 'resource')} changed outside the stack; fix: `pulumi up --refresh --stack "
        f"{stack}` restores what the stack declares",
        markup=False,
        soft_wrap=True,
    )
