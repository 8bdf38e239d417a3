"""`dra-fleet init`: create a Pulumi project from the template of `pulumi new`."""

from __future__ import annotations

import re
import sys
import tempfile
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, get_args

import typer

from dra_fleet.cli.command import Json, examples
from dra_fleet.cli.output import print_json
from dra_fleet.core.findings.errors import ExpectedError, mistyped
from dra_fleet.core.places import PACKAGE, PROJECT_FILE, ROOT, top_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLES = examples(
    ("answer its questions", "dra-fleet init gpu-fleet"),
    ("in the current empty folder, for a script", "dra-fleet init --name gpu-fleet -o json"),
    ("with a cluster on AKS", "dra-fleet init gpu-fleet --cloud aks"),
    ("a Python program instead of stack files", "dra-fleet init gpu-fleet --program --cloud gke"),
    ("with the Pulumi CLI, in a checkout", "pulumi new ./templates/fleet --dir ~/gpu-fleet"),
)
TEMPLATES: Final = top_folder("templates")
TEMPLATE: Final = TEMPLATES / "fleet"
_INSTALLED: Final = PACKAGE / "programs"
PROGRAMS: Final = _INSTALLED if _INSTALLED.is_dir() else ROOT / "examples" / "programs"
"""Example programs by cloud; a project with a program starts as one of them."""
Cloud = Literal["existing", "aks", "eks", "gke", "ack"]
CLOUDS: Final = get_args(Cloud)
DESCRIPTION: Final = "GPUs with Dynamic Resource Allocation"
_MAIN: Final = "__main__.py"
_REQUIREMENTS: Final = "requirements.txt"
_SHARED: Final = "fleets/1.yaml"
_CLUSTERS: Final = "    clusters:\n"
_NEXT: Final = ("dra-fleet prove dev", "dra-fleet rehearse up dev")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
"""https://github.com/pulumi/pulumi/blob/v3.259.0/sdk/go/common/tokens/project.go"""


def _cloud(given: str) -> str:
    if given not in CLOUDS:
        from dra_fleet.clouds import of_vendor

        proposal = mistyped(of_vendor(given), CLOUDS)
        fix = f"; fix: {proposal}" if proposal else ""
        raise typer.BadParameter(f"unknown cloud; got: {given}; allowed: {', '.join(CLOUDS)}{fix}")
    return given


class CannotStartError(ExpectedError):
    """The project cannot be created; no file was written."""


def init(  # noqa: PLR0917 - Typer names them
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="New or empty folder. Default: the current one.")
    ] = Path(),
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Project name. Default: the folder's name.")
    ] = None,
    description: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Project description, one line.")
    ] = None,
    cloud: Annotated[
        Cloud,
        typer.Option(
            "--cloud",
            metavar="|".join(CLOUDS),
            parser=_cloud,
            help="Cloud of the cluster. Default: a cluster that exists.",
        ),
    ] = "existing",
    program: Annotated[
        bool, typer.Option("--program", help="Create a Python program with the components, and its test.")
    ] = False,
    json: Json = False,
) -> None:
    """Create a project: a simulated stack `dev`, two more stacks, the program, a pipeline and a README.

    On a terminal, the command requests missing options. It does not change a folder that has files.
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
    files = filled(name, description, cloud, program=program)
    _write(folder, files)
    if json:
        print_json({"project": name, "folder": str(folder.resolve()), "files": sorted(files)})
        return
    typer.echo(f"Created project {name} in {folder.resolve()}. Its README.md describes the files. Next:")
    enter = [] if folder.resolve() == Path.cwd() else [f"cd {folder}"]
    after = ("pip install -r requirements.txt", "pytest") if program else _NEXT
    for line in (*enter, *after):
        typer.echo(f"  {line}")


def on_terminal() -> bool:
    """Return True if the command can ask questions."""
    return sys.stdin.isatty()


def filled(
    name: str, description: str, cloud: Cloud = "existing", *, program: bool = False
) -> Mapping[str, str]:
    """Return the files of a project by their paths, filled in as `pulumi new` does it.

    Args:
        name: Name of the project.
        description: One line.
        cloud: Cloud of the cluster.
        program: A Python program with the components instead of stack files.

    https://github.com/pulumi/pulumi/blob/v3.259.0/sdk/go/common/workspace/templates.go
    """
    if program:
        found = {**_read(TEMPLATES / "program"), _MAIN: (PROGRAMS / cloud / _MAIN).read_text("utf-8")}
    else:
        found = _read(TEMPLATE) if cloud == "existing" else _with_cloud(_read(TEMPLATE), cloud)
    files = {
        path: text.replace("${PROJECT}", name)
        .replace("${DESCRIPTION}", description)
        .replace("${EXTRA}", "program" if cloud == "existing" else cloud)
        for path, text in found.items()
    }
    return {**files, PROJECT_FILE: _project(found[PROJECT_FILE], name, description)}


def _with_cloud(files: Mapping[str, str], cloud: str) -> dict[str, str]:
    """Return the files of the template with a cluster in a cloud, which needs no simulated machines."""
    text = files[_SHARED]
    before, _, old = text.partition(_CLUSTERS)
    _, separator, after = old.partition("\n    # Devices")
    cluster = TEMPLATES / "cloud" / "clusters" / f"{cloud}.yaml"
    new = cluster.read_text(encoding="utf-8").partition(_CLUSTERS)[2]
    own = {path: own for path, own in _read(TEMPLATES / "cloud").items() if not path.startswith("clusters/")}
    requirements = files[_REQUIREMENTS].replace("dra-fleet[", f"dra-fleet[{cloud},")
    kept = {path: kept for path, kept in files.items() if not path.startswith("hardware/")}
    return {
        **kept,
        **own,
        _SHARED: f"{before}{_CLUSTERS}{new}{separator}{after}",
        _REQUIREMENTS: requirements,
    }


def _read(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def _project(text: str, name: str, description: str) -> str:
    """Return the project file with quoted values and without the template's own lines."""
    from ruamel.yaml import YAML

    yaml = YAML()
    document = yaml.load(text)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - ruamel is partly untyped
    document.pop("template", None)  # pyright: ignore[reportUnknownMemberType]
    document |= {"name": name, "description": description}
    written = StringIO()
    yaml.dump(document, written)  # pyright: ignore[reportUnknownMemberType]
    return written.getvalue()


def _refuse_full(folder: Path) -> None:
    """Refuse what is not a folder, and one that holds anything but an empty repository."""
    if folder.exists() and not folder.is_dir():
        raise CannotStartError(f"{folder} is a file; fix: name a folder that does not exist yet")
    entries = sorted(path.name for path in folder.iterdir() if path.name != ".git") if folder.exists() else []
    if entries:
        raise CannotStartError(
            f"{folder.resolve()} is not empty, it has {entries[0]}; nothing in it was changed; "
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
