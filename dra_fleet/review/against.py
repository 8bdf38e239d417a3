"""The fleet to compare with: another stack file, or the same one at another revision of its repository."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from dra_fleet.fleet import SettingsInvalid
from dra_fleet.fleet.stack_file import fleet_at, read_fleet
from dra_fleet.review.assemble import fleet_of
from dra_fleet.review.errors import ReviewError
from dra_fleet.review.was import Was, was_planned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def read_against(against: str, stack_file: Path) -> Was:
    """The fleet as another file or revision has it.

    Args:
        against: A file's path, or a revision such as `main` or `HEAD~1`.
        stack_file: The stack file that is reviewed.

    Raises:
        ReviewError: There is neither such a file nor such a revision.
    """
    if Path(against).is_file():
        return _was(lambda: read_fleet(Path(against)), against)
    if _show(against, stack_file) is None:
        return Was(source=f"{against}, which has no {stack_file.name} yet")
    return _was(
        lambda: fleet_at(stack_file, lambda file: _show(against, file)), f"{stack_file.name} at {against}"
    )


def _was(read: Callable[[], Mapping[str, Any]], source: str) -> Was:
    try:
        fleet = fleet_of(read())
    except SettingsInvalid as invalid:
        return Was(problem=f"{source}: {invalid}")
    if fleet.invalid is not None or fleet.plan is None or fleet.proof is None:
        return Was(problem=f"{source}: {fleet.invalid}")
    return was_planned(fleet.plan, fleet.proof, source)


def _show(revision: str, stack_file: Path) -> str | None:
    """The file at a revision; None where the revision has no such file."""
    known = _git(stack_file.parent, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if known.returncode != 0:
        raise ReviewError(
            f"--against {revision} is neither a file nor a revision of the repository of {stack_file}; "
            "give the path of another stack file, or a branch, tag or commit"
        )
    shown = _git(stack_file.parent, "show", f"{known.stdout.strip()}:./{stack_file.name}")
    return shown.stdout if shown.returncode == 0 else None


def _git(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", "-C", str(directory), *arguments], capture_output=True, text=True, check=False
        )
    except OSError as problem:
        raise ReviewError(
            f"git cannot be started: {problem.strerror}; give the path of another stack file"
        ) from None
