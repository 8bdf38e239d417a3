"""Reads YAML files into plain data that remembers where each value stands.

Bounded in time and memory whatever the file holds: size, number of values after anchors are followed, depth.
YAML 1.2, as the rest of this program reads it; dates stay text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

MAX_BYTES = 1024 * 1024
MAX_VALUES = 100_000
MAX_DEPTH = 64

Path = tuple[str | int, ...]
_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True)
class Place:
    """Where a value stands; both count from 1."""

    line: int = 1
    column: int = 1


@dataclass(frozen=True, kw_only=True)
class Document:
    """One document of a file: its value, and the place of every value in it."""

    file: str
    value: object
    places: dict[Path, Place] = field(repr=False)

    def place(self, path: Path) -> Place:
        """Where the value at a path stands, or else the nearest value around it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place())

    def path(self, base: Path, dotted: str) -> Path:
        """The path that a dotted text below `base` means, as far as the document has it."""
        path, rest = base, dotted
        while rest := rest.lstrip("."):
            below = [key for key in self.places if len(key) == len(path) + 1 and key[:-1] == path]
            found = [(str(key[-1]), key[-1]) for key in below]
            matching = [(text, key) for text, key in found if _begins(rest, text, key)]
            text, key = max(matching, default=_next(rest), key=lambda item: len(item[0]))
            path = (*path, key)
            rest = rest.removeprefix(f"[{text}]") if rest.startswith("[") else rest[len(text) :]
        return path


class Unreadable(Exception):  # noqa: N818 - it says what the file is
    """A file that cannot be judged; the message says why, at a line and column."""

    def __init__(self, what: str, place: Place | None = None, fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.place = place or Place()
        self.fix = fix


def read_documents(file: str, data: bytes) -> list[Document]:
    """The documents of a YAML file; empty ones are left out.

    Args:
        file: what findings call the file.
        data: its bytes.

    Raises:
        Unreadable: It is no YAML, no UTF-8, or larger than anything a cluster takes.
    """
    if len(data) > MAX_BYTES:
        raise Unreadable(
            f"is larger than {MAX_BYTES} bytes, which are the most that are read", fix="split the file"
        )
    reader = _Reader(file)
    return [document for document in map(reader.document, _nodes(_text(data))) if document is not None]


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = Place(before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        raise Unreadable("is no UTF-8 text", place) from None


def _nodes(text: str) -> list[Any]:
    yaml: Any = YAML(typ="safe", pure=True)
    try:
        return list(yaml.compose_all(text))
    except RecursionError:
        raise Unreadable("is nested too deeply", fix=f"nest at most {MAX_DEPTH} levels") from None
    except MarkedYAMLError as error:
        problem: Any = error
        mark = problem.problem_mark or problem.context_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else Place()
        raise Unreadable(f"is no YAML: {_first_line(problem.problem)}", place) from None
    except (YAMLError, ValueError) as error:
        raise Unreadable(f"is no YAML: {_first_line(error)}") from None


def _first_line(text: object) -> str:
    return (str(text or "unreadable").strip().splitlines() or ["unreadable"])[0]


class _Reader:
    """Turns nodes into values; `values` counts over the whole file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.values = 0
        self.places: dict[Path, Place] = {}

    def document(self, node: Any) -> Document | None:  # noqa: ANN401 - ruamel's nodes have no types
        self.places = {}
        value = None if node is None else self.value(node, ())
        return None if value is None else Document(file=self.file, value=value, places=self.places)

    def value(self, node: Any, path: Path) -> object:  # noqa: ANN401
        self.values += 1
        self.places.setdefault(path, _place(node))
        if self.values > MAX_VALUES:
            what = f"holds more than {MAX_VALUES} values once its anchors are followed"
            raise Unreadable(what, _place(node), "write it without anchors, or split the file")
        if len(path) > MAX_DEPTH:
            what = f"is nested more than {MAX_DEPTH} levels deep, or holds an anchor that contains itself"
            raise Unreadable(what, _place(node), "write it without anchors")
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            items = cast("list[Any]", cast("Any", node).value)
            return [self.value(item, (*path, index)) for index, item in enumerate(items)]
        return _scalar(node)

    def _mapping(self, node: Any, path: Path) -> dict[str, object]:  # noqa: ANN401
        result: dict[str, object] = {}
        merged: list[Any] = []
        for key, item in cast("list[tuple[Any, Any]]", node.value):
            if not isinstance(key, ScalarNode):
                raise Unreadable("has a key that is no text", _place(key))
            name, tag = str(cast("Any", key).value), str(cast("Any", key).tag)
            if tag == f"{_TAG}merge":
                merged += (
                    cast("list[Any]", cast("Any", item).value) if isinstance(item, SequenceNode) else [item]
                )
                continue
            if name in result:
                raise Unreadable(f"holds the key {name!r} twice", _place(key), "remove one of the two")
            self.places[*path, name] = _place(key)
            result[name] = self.value(item, (*path, name))
        for item in merged:
            if not isinstance(item, MappingNode):
                raise Unreadable("merges (<<) something that is no mapping", _place(item))
            result = {**self._mapping(item, path), **result}
        return result


def _scalar(node: Any) -> object:  # noqa: ANN401
    text, kind = str(node.value), str(node.tag).removeprefix(_TAG)
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "int":
        return _whole(text)
    if kind == "float":
        return _decimal(text)
    return text


def _whole(text: str) -> object:
    digits = text.replace("_", "")
    try:
        return int(digits, 0) if digits.lstrip("+-")[:2].lower() in ("0x", "0o", "0b") else int(digits)
    except ValueError:
        return text


def _decimal(text: str) -> object:
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _place(node: Any) -> Place:  # noqa: ANN401
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def _begins(rest: str, text: str, key: str | int) -> bool:
    if rest.startswith("["):
        return rest.startswith(f"[{text}]")
    return (
        isinstance(key, str) and rest.startswith(text) and rest[len(text) : len(text) + 1] in ("", ".", "[")
    )


def _next(rest: str) -> tuple[str, str | int]:
    """The next part of a dotted text that the document does not have."""
    if rest.startswith("["):
        text = rest[1:].partition("]")[0]
        return text, int(text) if text.isdigit() else text
    text = rest.partition(".")[0].partition("[")[0]
    return text, text
