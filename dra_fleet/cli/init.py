"""`dra-fleet init`: create a Pulumi project from the template of `pulumi new`."""

from __future__ import annotations

import re
import sys
import tempfile
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dra_fleet.cli.command import Json, examples
from dra_fleet.cli.output import print_json
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.core.places import PROJECT_FILE, top_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLES = examples(
    ("answer its questions", "dra-fleet init gpu-fleet"),
    ("in the current empty folder, for a script", "dra-fleet init --name gpu-fleet -o json"),
    ("with the Pulumi CLI, in a checkout", "pulumi new ./templates/fleet --dir ~/gpu-fleet"),
)
TEMPLATE: Final = top_folder("templates") / "fleet"
DESCRIPTION: Final = "GPUs with Dynamic Resource Allocation"
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
"""https://github.com/pulumi/pulumi/blob/v3.259.0/sdk/go/common/tokens/project.go"""


class CannotStartError(ExpectedError):
    """The project cannot be created; no file was written."""


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="New or empty folder; default: the current one.")
    ] = Path(),
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Project name; default: the folder's name.")
    ] = None,
    description: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Project description, one line.")
    ] = None,
    json: Json = False,
) -> None:
    """Create a project: a simulated stack `dev`, two more stacks, the program, a pipeline and a README.

    On a terminal, the command asks for missing options. It does not change a folder that has files.
    """
    _refuse_full(folder)
    asks = on_terminal() and not json
    if name is None:
        name = folder.resolve().name
        name = str(typer.prompt("project name", default=name)) if asks else name
    if description is None:
        description = str(typer.prompt("description", default=DESCRIPTION)) if asks else DESCRIPTION
    if not _NAME.fullmatch(name):
        raise CannotStartError(
            f"{name!r} is not a valid project name; allowed: at most 100 letters, digits, hyphens, "
            "underscores and periods; fix: choose one with --name"
        )
    files = filled(name, description)
    _write(folder, files)
    if json:
        print_json({"project": name, "folder": str(folder.resolve()), "files": sorted(files)})
        return
    typer.echo(f"Created project {name} in {folder.resolve()}. Its README.md describes the files. Next:")
    enter = [] if folder.resolve() == Path.cwd() else [f"cd {folder}"]
    for line in (*enter, "dra-fleet prove dev", "dra-fleet rehearse up dev"):
        typer.echo(f"  {line}")


def on_terminal() -> bool:
    """Return True if the command can ask questions."""
    return sys.stdin.isatty()


def filled(name: str, description: str) -> Mapping[str, str]:
    """The template's files by their paths, filled in as `pulumi new` does it.

    https://github.com/pulumi/pulumi/blob/v3.259.0/sdk/go/common/workspace/templates.go
    """
    found = {
        path.relative_to(TEMPLATE).as_posix(): path.read_text(encoding="utf-8")
        for path in TEMPLATE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    files = {
        path: text.replace("${PROJECT}", name).replace("${DESCRIPTION}", description)
        for path, text in found.items()
    }
    return {**files, PROJECT_FILE: _project(found[PROJECT_FILE], name, description)}


def _project(text: str, name: str, description: str) -> str:
    """The project file, whose values may need quotes, without what only a template says."""
    from ruamel.yaml import YAML

    yaml = YAML()
    document = yaml.load(text)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - ruamel is partly untyped
    document.pop("template")  # pyright: ignore[reportUnknownMemberType]
    document |= {"name": name, "description": description}
    written = StringIO()
    yaml.dump(document, written)  # pyright: ignore[reportUnknownMemberType]
    return written.getvalue()


def _refuse_full(folder: Path) -> None:
    """Refuse what is no folder, and one that holds anything but an empty repository."""
    if folder.exists() and not folder.is_dir():
        raise CannotStartError(f"{folder} is a file; fix: name a folder that does not exist yet")
    held = sorted(path.name for path in folder.iterdir() if path.name != ".git") if folder.exists() else []
    if held:
        raise CannotStartError(
            f"{folder.resolve()} is not empty, it has {held[0]}; nothing in it was changed; "
            "fix: name a folder that does not exist yet, or empty this one"
        )


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write all files beside their places first: a disk that is full leaves nothing half-made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".init-", dir=folder) as staged:
            for name, text in files.items():
                path = Path(staged) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            for path in Path(staged).iterdir():
                path.rename(folder / path.name)
    except OSError as error:
        raise CannotStartError(
            f"the project cannot be written into {folder}: {error.strerror}; "
            "fix: free or change what stands there, or name another folder"
        ) from error
