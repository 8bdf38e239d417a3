"""Reads YAML files into plain data that remembers where each value stands.

Bounded in time and memory whatever the file holds: size, number of values after anchors are followed, depth.
YAML 1.2, as the rest of this program reads it; dates stay text.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from dra_fleet.core.yaml_text.nodes import MAX_DEPTH, MAX_VALUES, Place, Unreadable, YamlNode, compose

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES = 1024 * 1024

MANIFEST_BYTES = 16 * MAX_BYTES
"""Bundles of many objects, such as those of custom resource definitions, are larger than any one of them."""

Path = tuple[str | int, ...]

_LONGEST_KEY = 512
"""Letters of a key up to which a dotted text is looked for in it."""
_START = re.compile(r"^(?:%[^\n]*\n)*---(?=\s|$)", re.MULTILINE)
_END = re.compile(r"[.\[]|$")


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document of a file: its value, and the place of every value in it."""

    file: str
    value: object
    places: dict[Path, Place] = field(repr=False)

    def place(self, path: Path) -> Place:
        """Return the place of the value at a path, or of the nearest value around it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place())

    def path(self, base: Path, dotted: str) -> Path:
        """Parse a dotted path below `base`, as far as the document has it."""
        path, rest = base, dotted
        while rest := rest.lstrip("."):
            text, key = self._below(path, rest)
            path = (*path, key)
            rest = rest[len(text) + 1 :].removeprefix("]") if rest.startswith("[") else rest[len(text) :]
        return path

    def _below(self, path: Path, rest: str) -> tuple[str, str | int]:
        """Return the next key of the text `rest` below a path.

        The longest that exists, otherwise as written.
        """
        there = self._keys.get(path, {})
        expected = _next(rest)
        if rest.startswith("["):
            return expected[0], expected[1] if expected[1] in there else expected[0]
        name = max((text for text in _beginnings(rest) if text in there), default=expected[0], key=len)
        return name, name

    @cached_property
    def _keys(self) -> dict[Path, dict[str | int, None]]:
        """Return the keys of each mapping by path."""
        found: dict[Path, dict[str | int, None]] = {}
        for path in self.places:
            if path:
                found.setdefault(path[:-1], {})[path[-1]] = None
        return found


def read_documents(file: str, data: bytes) -> list[Document]:
    """Read the documents of a YAML file; empty ones are omitted.

    Args:
        file: what findings call the file.
        data: its bytes.

    Raises:
        Unreadable: It is not valid YAML, no UTF-8, or larger than anything a cluster takes.
    """
    if len(data) > MAX_BYTES:
        raise Unreadable(
            f"is larger than {MAX_BYTES} bytes, which are the most that are read",
            fix="write less into one file",
        )
    reader = _Reader(file)
    return [reader.document(node) for node in compose(_text(data))]


@dataclass(frozen=True, kw_only=True)
class Torn:
    """A document that cannot be read, its text, and why."""

    text: str
    problem: Unreadable


def read_each(file: str, data: bytes) -> tuple[list[Document], list[Torn]]:
    """Read each document of a YAML file separately, so that an unreadable one hides no other.

    Args:
        file: what findings call the file.
        data: its bytes.
    """
    if len(data) > MANIFEST_BYTES:
        what = f"is larger than {MANIFEST_BYTES} bytes, which are the most that are read"
        return [], [Torn(text="", problem=Unreadable(what, fix="write less into one file"))]
    try:
        text = _text(data)
    except Unreadable as problem:
        return [], [Torn(text="", problem=problem)]
    documents: list[Document] = []
    torn: list[Torn] = []
    for first_line, part in _parts(text):
        reader = _Reader(file)
        try:
            documents += [reader.document(node) for node in compose(part, first_line)]
        except Unreadable as problem:
            torn.append(Torn(text=part, problem=problem))
    return documents, torn


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of documents with their first lines; directives belong to the document after them."""
    starts = [0, *(match.start() for match in _START.finditer(text)), len(text)]
    line = 1
    for begin, end in itertools.pairwise(sorted(set(starts))):
        part = text[begin:end]
        yield line, part
        line += part.count("\n")


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = Place(before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        raise Unreadable("is not UTF-8 text", place, "save it as UTF-8") from None


class _Reader:
    """Turns nodes into values; `values` counts over the whole file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.values = 0
        self.places: dict[Path, Place] = {}

    def document(self, node: YamlNode) -> Document:
        self.places = {(): node.place}
        return Document(file=self.file, value=self.value(node, ()), places=self.places)

    def value(self, node: YamlNode, path: Path) -> object:
        self.values += 1
        if self.values > MAX_VALUES:
            what = f"holds more than {MAX_VALUES} values once its anchors are followed"
            raise Unreadable(what, node.place, "write it without anchors, or less into one file")
        if len(path) > MAX_DEPTH:
            what = f"is nested more than {MAX_DEPTH} levels deep once its anchors are followed"
            raise Unreadable(what, node.place, "write it without anchors")
        if node.pairs is not None:
            return self._mapping(node.pairs, path)
        if node.items is not None:
            return self._sequence(node.items, path)
        return node.text if node.kind == "str" else _scalar(node)

    def _sequence(self, items: tuple[YamlNode, ...], path: Path) -> list[object]:
        result: list[object] = []
        for index, item in enumerate(items):
            below = (*path, index)
            self.places.setdefault(below, item.place)
            result.append(self.value(item, below))
        return result

    def _mapping(self, pairs: tuple[tuple[YamlNode, YamlNode], ...], path: Path) -> dict[str, object]:
        result: dict[str, object] = {}
        merged: list[YamlNode] = []
        for key, item in pairs:
            if key.pairs is not None or key.items is not None:
                raise Unreadable("has a key that is not a text", key.place)
            name = key.text
            if key.kind == "merge":
                merged += item.items if item.items is not None else [item]
                continue
            if name in result:
                raise Unreadable(f"holds the key {name!r} twice", key.place, "remove one of the two")
            below = (*path, name)
            self.places[below] = key.place
            result[name] = self.value(item, below)
        for item in merged:
            if item.pairs is None:
                raise Unreadable("merges (<<) something that is not a mapping", item.place)
            result = {**self._mapping(item.pairs, path), **result}
        return result


def _scalar(node: YamlNode) -> object:
    match node.kind:
        case "null":
            return None
        case "bool":
            return node.text.lower() == "true"
        case "int":
            return _whole(node.text)
        case "float":
            return _decimal(node.text)
        case _:
            return node.text


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


def _beginnings(rest: str) -> Iterator[str]:
    """Yield the possible first keys of a dotted text, since keys may contain dots too."""
    head = rest[:_LONGEST_KEY]
    yield from (head[: end.start()] for end in _END.finditer(head))


def _next(rest: str) -> tuple[str, str | int]:
    if rest.startswith("["):
        text = rest[1:].partition("]")[0]
        return text, int(text) if text.isdecimal() else text
    text = rest.partition(".")[0].partition("[")[0]
    return text, text
