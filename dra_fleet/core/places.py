"""Folders of the project's own files, in a checkout or an installed package, and of the user's project."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from dra_fleet.core.findings.errors import ExpectedError

PACKAGE: Final = Path(__file__).resolve().parents[1]
ROOT: Final = PACKAGE.parent
"""Parent of the package `dra_fleet`: the checkout, or its site-packages."""
PROJECT_FILE: Final = "Pulumi.yaml"
SELECTED: Final = "PULUMI_OPTION_CWD"
"""The engine's own variable for the project it works on; `rehearse env` selects a copy of a stack by it."""

REHEARSED: Final = "DRA_FLEET_REHEARSED"
"""A project's folder and its rehearsed copy, which `gate` and `review` use below that folder."""


class NoProjectError(ExpectedError):
    """There is no Pulumi project to work on."""


def top_folder(name: str) -> Path:
    """Return a folder of a checkout's top level: inside an installed package, otherwise next to it."""
    installed = PACKAGE / name
    return installed if installed.is_dir() else ROOT / name


def nearest_project() -> Path | None:
    """Return the Pulumi project at or above the working directory, otherwise the checkout; None without both.

    As the engine looks for it: https://www.pulumi.com/docs/iac/concepts/projects/project-file/.
    """
    here = Path.cwd()
    folders = (here, *here.parents, ROOT)
    return next((folder for folder in folders if (folder / PROJECT_FILE).is_file()), None)


def rehearsed_copy() -> Path | None:
    """Return the copy that `rehearse env` selects for the working directory, if there is one."""
    folder, _, copy = os.environ.get(REHEARSED, "").partition(os.pathsep)
    return Path(copy) if copy and Path.cwd().resolve().is_relative_to(folder) else None


def project() -> Path:
    """Return the folder of the Pulumi project of a command.

    Raises:
        NoProjectError: the working directory is in none, and this is not a checkout.
    """
    found = nearest_project()
    if found is None:
        raise NoProjectError(
            f"there is no {PROJECT_FILE} in {Path.cwd()} or above it; "
            "fix: run this in the folder of your project, or make one: dra-fleet init fleet"
        )
    return found


def stack_name(path: Path) -> str:
    """Return the stack's name: `dev` for Pulumi.dev.yaml, the stem of any other file."""
    return path.stem.removeprefix("Pulumi.")
