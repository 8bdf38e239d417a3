"""Where in the files of a stack a setting stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import yaml

from dra_fleet.core.findings.errors import KEY
from dra_fleet.fleet.extending import FLEET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.core.yaml_text import Path, Place

_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, kw_only=True)
class StackText:
    """A file that the reviewed fleet stands in.

    Attributes:
        path: Its path in its repository.
        text: Its text, where it is not read yet.
        places: Where each value of it stands, where it is read.
    """

    path: str
    text: str = ""
    places: Mapping[Path, Place] | None = None

    @cached_property
    def lines(self) -> Mapping[tuple[str, ...], int]:
        """The line of each setting by its path in the fleet."""
        return _of_text(self.text) if self.places is None else _of_places(self.places)


def place_of(path: str, texts: Sequence[StackText]) -> tuple[str, int]:
    """The file, and the line in it from 1, of a setting, or of the nearest part of its path that there is.

    Args:
        path: The path as errors of settings name it, such as `dra-fleet:fleet.clusters.lab`; anything else is
            at the first line.
        texts: The stack file, and after it those that it extends.
    """
    if path.startswith(KEY):
        parts = [index or name for index, name in _PART.findall(path.removeprefix(KEY))]
        for length in range(len(parts), -1, -1):
            for file in texts:
                known = file.lines.get(tuple(parts[:length]))
                if known is not None:
                    return file.path, known
    return texts[0].path, 1


def _of_places(places: Mapping[Path, Place]) -> Mapping[tuple[str, ...], int]:
    start, found = len(FLEET), dict[tuple[str, ...], int]()
    for path, place in places.items():
        if path[:start] == FLEET:
            found.setdefault(tuple(map(str, path[start:])), place.line)
    return found


def _of_text(text: str) -> Mapping[tuple[str, ...], int]:
    try:
        document: Any = yaml.compose(text, Loader=_LOADER)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    except yaml.YAMLError:
        return {}
    found: dict[tuple[str, ...], int] = {}
    for key, value in _pairs(_under(document, "config")):
        if key.value == KEY:
            found[()] = cast("int", key.start_mark.line) + 1
            _collect(value, (), found)
    return found


def _under(node: Any, name: str) -> Any:  # noqa: ANN401 - a YAML node, which has no types
    return next((value for key, value in _pairs(node) if key.value == name), None)


def _pairs(node: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - a YAML node
    return cast("list[tuple[Any, Any]]", node.value) if isinstance(node, yaml.MappingNode) else []


def _collect(node: Any, path: tuple[str, ...], found: dict[tuple[str, ...], int]) -> None:  # noqa: ANN401
    for key, value in _pairs(node):
        below = (*path, str(key.value))
        found.setdefault(below, cast("int", key.start_mark.line) + 1)
        _collect(value, below, found)
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(cast("list[Any]", node.value)):
            below = (*path, str(index))
            found.setdefault(below, cast("int", item.start_mark.line) + 1)
            _collect(item, below, found)
