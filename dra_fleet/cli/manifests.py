"""The files that `dra-fleet check` is given: by name, by pattern, in folders and on stdin."""

from __future__ import annotations

import glob
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dra_fleet.check import FileFinding, ManifestFile
from dra_fleet.core.yaml_text import MANIFEST_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STDIN = Path("-")
_SUFFIXES = (".yaml", ".yml")


def manifests(paths: Iterable[Path], unreadable: list[FileFinding]) -> list[ManifestFile]:
    """Read each file once, and report unreadable ones."""
    found: dict[Path, bool] = {}
    for path in paths:
        for file, is_named in _files(path):
            found.setdefault(file, is_named)
    return [
        ManifestFile(name=name_of(file), data=data, is_named=is_named)
        for file, is_named in found.items()
        if (data := bytes_of(file, unreadable)) is not None
    ]


def name_of(path: Path) -> str:
    """Return the name of a file in findings."""
    return "stdin" if path == STDIN else str(path)


def bytes_of(path: Path, unreadable: list[FileFinding]) -> bytes | None:
    """Read at most a little more than is ever used; report the problem and return None if it fails."""
    try:
        data = _read(path, MANIFEST_BYTES + 1)
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
    else:
        if path != STDIN or data.strip():
            return data
        what = "is empty: the command before the pipe wrote nothing"
    name = name_of(path)
    unreadable.append(
        FileFinding(
            file=name, line=1, column=1, severity="error", object="", path="", rule="unreadable", what=what
        )
    )
    return None


def _files(path: Path) -> Iterator[tuple[Path, bool]]:
    if path.is_dir():
        below = (file for suffix in _SUFFIXES for file in path.rglob(f"*{suffix}"))
        yield from ((file, False) for file in sorted(below) if file.is_file() and not _is_hidden(file, path))
    elif not path.exists() and glob.has_magic(str(path)):
        matching = sorted(Path(name) for name in glob.glob(str(path), recursive=True))  # noqa: PTH207 - with **
        yield from ((file, False) for file in matching if file.is_file())
        if not matching:
            yield path, True
    else:
        yield path, True


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _read(path: Path, most: int) -> bytes:
    if path == STDIN:
        return sys.stdin.buffer.read(most)
    with path.open("rb") as file:
        return file.read(most)
