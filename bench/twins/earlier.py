"""An earlier commit of this repository, set up in a temporary folder beside this one to be measured with it.

What it runs is built from the same modules in the same versions, so that it is lent what is built for this
commit: its own builds had other names, and to build them takes a quarter of an hour.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

PROJECT: Final = Path(__file__).resolve().parents[2]
_ENTRIES: Final = """\
from dra_fleet.rehearsal.tools import recipes
from dra_fleet.rehearsal.tools.go import GoToolchain
go = GoToolchain.find()
made = [item for item in vars(recipes).values() if isinstance(item, recipes.Recipe)]
print(*[go.entry(item) for item in [*made, recipes.scheduler("1.35")]], sep="\\n")
"""
"""The names under which the earlier commit looks for its tools."""


class NoEarlierError(Exception):
    """The earlier commit cannot be run here; the message says why."""


@contextmanager
def earlier(commit: str) -> Generator[tuple[Path, Mapping[str, str]]]:
    """Check out a commit that can rehearse, and return the variables of its commands.

    Args:
        commit: one whose tools were all built from Go modules.

    Raises:
        NoEarlierError: it is not in this clone, cannot be set up, or requests a tool that is not built here.
    """
    with TemporaryDirectory(prefix="dra-fleet-bench-") as place:
        folder, cache = Path(place, commit), Path(place, "cache")
        try:
            _run(["git", "worktree", "add", "--quiet", "--detach", str(folder), commit], PROJECT)
            _run(["make", "setup"], folder)
            _lend(folder, cache / "tools")
            yield folder, {"DRA_FLEET_CACHE": str(cache)}
        finally:
            if folder.is_dir():
                _run(["git", "worktree", "remove", "--force", str(folder)], PROJECT)


def _lend(folder: Path, tools: Path) -> None:
    """Let a checkout find the tools that are built for this commit."""
    command = str(Path(sys.executable).with_name("dra-fleet"))
    output: dict[str, Any] = json.loads(_run([command, "rehearse", "tools", "--all", "--json"], PROJECT))
    paths = [Path(item) for item in output.values() if isinstance(item, str)]
    built = {place.name.rpartition("-")[0]: place for place in (_folder_of(path) for path in paths)}
    tools.mkdir(parents=True)
    for entry in _run([str(folder / ".venv" / "bin" / "python"), "-c", _ENTRIES], folder).split():
        tool = entry.rpartition("-")[0]
        if tool not in built:
            raise NoEarlierError(f"{tool} is not among the tools here")
        (tools / entry).symlink_to(built[tool])


def _folder_of(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        said = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        raise NoEarlierError(f"{' '.join(command[:3])} failed with {said[-1] if said else 'no word'}")
    return done.stdout
