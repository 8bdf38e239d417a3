"""Which files the pack consists of, so that a preview during which one of them changes proves nothing."""

from __future__ import annotations

import hashlib
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dra_fleet.core.places import PACKAGE, top_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CACHE: Final = "__pycache__"
_SITE: Final = "site-packages"


def identity(*own: Path) -> Mapping[str, str]:
    """A digest of every file that the pack is or runs on, by path.

    These are its own folders, the modules that it imports with their compiled forms, the interpreter, and
    what an environment may hold that changes how Python starts. A folder of the environment counts by the
    names in it, since a new one may come before an old one.

    Args:
        own: a team's own files and folders, which count too.
    """
    import_module("dra_fleet.policy.serving")  # all that the pack imports, which the gate else does not
    found = {str(file): _digest(file.read_bytes()) for file in _files(*own) if file.is_file()}
    for folder in map(Path, sys.path):
        if folder.name == _SITE and folder.is_dir():
            names = sorted(entry.name for entry in folder.iterdir() if entry.name != _CACHE)
            found[str(folder)] = _digest("\0".join(names).encode())
    return found


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The paths that are not as they were; a compiled form that is new is what Python adds by itself."""
    return [
        path
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path) and not (path not in before and _CACHE in path)
    ]


def _files(*own: Path) -> Iterator[Path]:
    yield from own
    for folder in (PACKAGE, top_folder("policies"), *own):
        # Compiled forms of what is not imported yet may be of an older source, and Python renews them.
        yield from (file for file in folder.rglob("*") if _CACHE not in file.parts)
    for module in list(sys.modules.values()):
        for place in (getattr(module, "__file__", None), getattr(module, "__cached__", None)):
            if isinstance(place, str):
                yield Path(place)
    yield Path(sys.executable)
    yield Path(sys.prefix) / "pyvenv.cfg"
    for folder in map(Path, sys.path):
        yield from folder.glob("*.pth")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
