"""Where in a project's files a finding is shown: the program's line, else the stack file's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

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
    """What is known of a project's lines.

    Attributes:
        program: by URN the program's line that registers the resource, as far as the engine told.
        stack_file: the stack file's name; without one the project's.
        lines: what the stack file says.
    """

    program: Mapping[str, SourceLine]
    stack_file: str = _PROJECT_FILE
    lines: tuple[str, ...] = ()

    def of(self, urn: str) -> SourceLine:
        """Where a finding on a resource is shown."""
        if urn in self.program:
            return self.program[urn]
        name = urn.rpartition("::")[2]
        word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])") if name else None
        named = (
            number for number, line in enumerate(self.lines, 1) if word is not None and word.search(line)
        )
        return SourceLine(self.stack_file, next(named, 1))


def places(directory: Path, stack: str, *states: Iterable[Mapping[str, Any]]) -> Places:
    """What is known of a project.

    Args:
        directory: the project's folder.
        stack: the stack's name, without an organisation.
        states: the engine's own records of resources; of the same resource the first that tells counts.
    """
    program: dict[str, SourceLine] = {}
    for state in states:
        for resource in state:
            place = _place(resource)
            if place is not None:
                program.setdefault(str(resource.get("urn", "")), place)
    file = directory / f"Pulumi.{stack.rpartition('/')[2]}.yaml"
    if not file.is_file():
        return Places(program=program)
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return Places(program=program, stack_file=file.name, lines=tuple(lines))


def _place(resource: Mapping[str, Any]) -> SourceLine | None:
    """The innermost line of the program itself: components of packages call the engine from elsewhere."""
    frames = cast("Iterable[Mapping[str, Any]]", resource.get("stackTrace") or ())
    told = (resource.get("sourcePosition"), *(frame.get("sourcePosition") for frame in frames))
    for position in told:
        found = _POSITION.fullmatch(str(position))
        if found is not None and not _NOT_THE_PROGRAM.search(found["file"]):
            return SourceLine(found["file"], int(found["line"]))
    return None
