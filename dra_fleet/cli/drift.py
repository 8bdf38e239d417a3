"""`dra-fleet drift`: list what was changed by hand since the last deployment."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated

import typer

from dra_fleet.cli.command import Json, Stack, examples
from dra_fleet.cli.output import new_table, print_json, print_table, stdout_console
from dra_fleet.cli.progress import reporting
from dra_fleet.core.places import SELECTED, rehearsed_copy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.review.drift import Drift

DRIFTED = 7
"""Exit code if a resource was changed by hand; `pulumi refresh --expect-no-changes` has the same."""

EXAMPLES = examples(
    ("compare the stack with its clusters and clouds", "dra-fleet drift prod"),
    ("for a scheduled pipeline", "dra-fleet drift prod -o json"),
    ("in a rehearsal", 'eval "$(dra-fleet rehearse env)" && dra-fleet drift dev'),
    more="Exit code: 0 no drift, 7 drift, 1 not every resource could be compared.",
)


def drift(
    stack: Stack,
    cwd: Annotated[
        Path | None,
        typer.Option(
            "--cwd", "-C", metavar="DIR", envvar=SELECTED, help="Pulumi project. Default: the current one."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List pools, releases, classes and templates that were changed or deleted by hand (read-only).

    Runs `pulumi refresh --preview-only` with the engine on PATH and the backend it is logged in to. Objects
    that a chart created are not compared.
    """
    from dra_fleet.review.drift import RefreshCommand, read_drift
    from dra_fleet.review.previewing import ReviewRequest

    request = ReviewRequest.of(stack, directory=cwd or rehearsed_copy())
    with reporting() as reporter, reporter.step("refresh") as shown:
        found = read_drift(
            RefreshCommand.of(request), lambda count: shown.update(f"{count} resources compared")
        )
    if json:
        print_json({"stack": request.name, "drift": [item.as_json() for item in found]})
    elif found:
        _show(request.name, found)
    else:
        typer.echo(f"stack {request.name}: no drift")
    if found:
        raise typer.Exit(DRIFTED)


def _show(stack: str, found: Sequence[Drift]) -> None:
    from rich.text import Text

    from dra_fleet.review.events import counted

    table = new_table(
        f"stack {stack}: {counted(len(found), 'resource')} changed by hand",
        "to keep a change, write it into the stack file and deploy",
    )
    for heading in ("Cluster", "Kind", "Name", "Property", "Declared", "Found"):
        table.add_column(heading, overflow="fold")
    for item in found:
        for path, declared, now in item.properties or (("", "exists", item.change),):
            cells = (item.owner.cluster, item.owner.kind, item.owner.name, path, declared, now)
            table.add_row(*map(Text, cells))
    console = stdout_console()
    print_table(console, table)
    for command in dict.fromkeys(item.undo for item in found):
        console.print(f"undo: {command}", markup=False, soft_wrap=True)
