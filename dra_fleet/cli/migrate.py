"""`dra-fleet migrate`: writes stack files as the next version reads them."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads it
from typing import TYPE_CHECKING, Annotated

import typer

from dra_fleet.cli.command import examples
from dra_fleet.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = examples(
    ("every stack file of the project", "dra-fleet migrate"),
    ("one file, such as one that others extend", "dra-fleet migrate fleets/base.yaml"),
    ("what would change, without changing it", "dra-fleet migrate --dry-run"),
)


def migrate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Default: the project's stack files."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show it.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
) -> None:
    """Write what goes with the next version in its new way; comments and all else stay as they are.

    A file that has nothing of that kind is not touched.
    """
    from dra_fleet.core.places import project
    from dra_fleet.fleet import going
    from dra_fleet.fleet.stack_file import as_written
    from dra_fleet.rehearsal import stack_copy

    changed: dict[str, Sequence[str]] = {}
    for file in files or sorted(project().glob("Pulumi.*.yaml")):
        as_written(file)
        document = stack_copy.read(file)
        told = going.migrate(document["config"])
        if told and not dry_run:
            file.write_text(stack_copy.text(document), encoding="utf-8")
        changed |= {str(file): told} if told else {}
    if json:
        print_json({"changed": changed, "written": not dry_run})
        return
    for file, told in changed.items():
        for line in told:
            typer.echo(f"{file}: {line}")
    typer.echo(f"{len(changed)} files {'would change' if dry_run else 'changed'}")
