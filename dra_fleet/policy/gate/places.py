"""Source line of each finding: the line of the program, otherwise of the stack file."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.fleet.fleet_files import fleet_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_POSITION: Final = re.compile(r"project:///(?P<file>[^#]+)#(?P<line>\d+)(,\d+)?")
"""https://github.com/pulumi/pulumi/blob/master/proto/pulumi/source.proto, as states hold it."""
_NOT_THE_PROGRAM: Final = re.compile(r"(^|/)(\.\.|\.venv|venv|node_modules|site-packages)(/|$)")
_PROJECT_FILE: Final = "Pulumi.yaml"


@dataclass(frozen=True)
class SourceLine:
    """A line of a file, by its path from the project's folder."""

    file: str
    line: int = 1


@dataclass(frozen=True, kw_only=True)
class Places:
    """Known source lines of a project.

    Attributes:
        program: by URN the program's line that registers the resource, as far as the engine reported it.
        files: the stack file, and below it those that it extends, each with its lines; else the project's.
    """

    program: Mapping[str, SourceLine]
    files: tuple[tuple[str, tuple[str, ...]], ...] = ((_PROJECT_FILE, ()),)

    def of(self, urn: str) -> SourceLine:
        """Return the source line of a finding on a resource."""
        if urn in self.program:
            return self.program[urn]
        name = urn.rpartition("::")[2]
        word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])") if name else None
        named = (
            SourceLine(file, number)
            for file, lines in self.files
            for number, line in enumerate(lines, 1)
            if word is not None and word.search(line)
        )
        return next(named, SourceLine(self.files[0][0]))


def places(directory: Path | None, stack: str, *states: Iterable[Mapping[str, Any]]) -> Places:
    """Collect the known source lines of a project.

    Args:
        directory: the project's folder; None to read no file of a project.
        stack: the stack's name, without an organisation.
        states: the engine's own records of resources; of the same resource the first that reports counts.
    """
    program: dict[str, SourceLine] = {}
    for state in states:
        for resource in state:
            place = _place(resource)
            if place is not None:
                program.setdefault(str(resource.get("urn", "")), place)
    file = directory / f"Pulumi.{stack.rpartition('/')[2]}.yaml" if directory is not None else None
    if directory is None or file is None or not file.is_file():
        return Places(program=program)
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in fleet_files(file)}
    return Places(
        program=program,
        files=tuple(
            (Path(os.path.relpath(path, directory)).as_posix(), tuple(text.splitlines()))
            for path, text in texts.items()
        ),
    )


def _place(resource: Mapping[str, Any]) -> SourceLine | None:
    """Return the innermost line of the program itself: packages' components call the engine too."""
    frames = cast("Iterable[Mapping[str, Any]]", resource.get("stackTrace") or ())
    reported = (resource.get("sourcePosition"), *(frame.get("sourcePosition") for frame in frames))
    for position in reported:
        found = _POSITION.fullmatch(str(position))
        if found is not None and not _NOT_THE_PROGRAM.search(found["file"]):
            return SourceLine(found["file"], int(found["line"]))
    return None
