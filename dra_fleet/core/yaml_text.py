"""Reads YAML and JSON that anybody may have written, bounded in time and memory; YAML with places."""

from __future__ import annotations

import itertools
import json
import math
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Never

import yaml
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path as FilePath
    from typing import BinaryIO


# libyaml finds the events; nothing is ever built that a bound does not allow. Plain values are read by the
# rules of YAML 1.2, as the rest of this program reads them.

MAX_VALUES = 100_000
MAX_DEPTH = 64

_MAX_NODES = 2 * MAX_VALUES
"""Keys are nodes too."""
_TAG = "tag:yaml.org,2002:"
_WORDS = {
    **dict.fromkeys(("true", "True", "TRUE", "false", "False", "FALSE"), "bool"),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), "null"),
    "<<": "merge",
}
"""Plain values of YAML 1.2, as ruamel.yaml defines them; a test compares both tables with that library."""
_NUMERIC = frozenset("+-.0123456789")
"""First characters of numbers."""
_NUMBERS = {
    "float": r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"
    r"|[-+]?\.[0-9_]+(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    "int": r"[-+]?(?:0b[0-1_]+|0o?[0-7_]+|[0-9_]+|0x[0-9a-fA-F_]+)",
}
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SCALAR: Final = yaml.ScalarEvent
_ENDS: Final = frozenset({yaml.SequenceEndEvent, yaml.MappingEndEvent})


class Place(NamedTuple):
    """Place of a value; line and column count from 1. `file`: if it is not the document's own."""

    line: int = 1
    column: int = 1
    file: str = ""


class Unreadable(Exception):  # noqa: N818 - it says what the file is
    """A file that cannot be checked; the message says why, at a line and column."""

    def __init__(self, what: str, place: Place | None = None, fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.place = place or Place()
        self.fix = fix

    def message(self, source: object) -> str:
        """Return one line: the place, the error, and the fix if it is known."""
        fix = f"; fix: {self.fix}" if self.fix else ""
        return f"{source}:{self.place.line}:{self.place.column}: {self.what}{fix}"


class YamlNode(Struct, eq=False):
    """A value of a document; an anchor's node is in every place that refers to it.

    It is never changed; a frozen class takes three times as long to make, and a large file has 100,000.

    Attributes:
        kind: Its tag without the prefix of YAML's own: map, seq, str, int, null, merge and so on.
        place: Where it stands.
        text: A scalar's text.
        items: A sequence's items.
        pairs: A mapping's keys and values.
    """

    kind: str
    place: Place
    text: str = ""
    items: tuple[YamlNode, ...] | None = None
    pairs: tuple[tuple[YamlNode, YamlNode], ...] | None = None


def compose(text: str, first_line: int = 1) -> Iterator[YamlNode]:
    """Yield the root node of each document of a text; empty documents are omitted.

    Args:
        text: the text.
        first_line: where it begins in its file.

    Raises:
        Unreadable: It is not valid YAML, or holds too much.
    """
    composer = _Composer(text, first_line)
    try:
        yield from composer.documents()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if mark is not None and text[mark.index : mark.index + 1] == "\t":
            raise Unreadable(
                "is not valid YAML: found a tab", composer.place(mark), "indent with spaces"
            ) from None
        what = f"is not valid YAML: {_first_line(error.problem)}"
        raise Unreadable(
            what, composer.place(mark), "look at the indentation, quotes and brackets above"
        ) from None
    except yaml.reader.ReaderError as error:
        before = text.encode()[: error.position].decode(errors="replace")
        place = Place(before.count("\n") + first_line, len(before) - before.rfind("\n"))
        raise Unreadable(f"is not valid YAML: {error.reason}", place) from None
    finally:
        composer.close()


class _Composer:
    """Follows the events of one text; `count` is of the nodes of all its documents."""

    def __init__(self, text: str, first_line: int) -> None:
        self._first_line = first_line
        self._loader = _LOADER(text)
        self._anchors: dict[str, YamlNode | None] = {}
        self._count = 0

    def place(self, mark: Any) -> Place:  # noqa: ANN401 - libyaml's marks have no type
        return Place(mark.line + self._first_line, mark.column + 1) if mark else Place(self._first_line)

    def close(self) -> None:
        self._loader.dispose()

    def documents(self) -> Iterator[YamlNode]:
        while True:
            event = self._loader.get_event()
            if isinstance(event, yaml.StreamEndEvent):
                return
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors = {}
                root = self._node(self._loader.get_event(), 0)
                if root.kind != "null":
                    yield root

    def _node(self, event: Any, depth: int) -> YamlNode:  # noqa: ANN401 - events have no common type
        place = self.place(event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            return self._aliased(str(event.anchor), place)
        self._count += 1
        if self._count > _MAX_NODES:
            raise Unreadable(f"holds more than {MAX_VALUES} values", place, "write less into one file")
        if depth > MAX_DEPTH:
            raise Unreadable(f"is nested more than {MAX_DEPTH} levels deep", place, "nest less")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        node = self._built(event, place, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _aliased(self, anchor: str, place: Place) -> YamlNode:
        if anchor not in self._anchors:
            raise Unreadable(
                f"is not valid YAML: found undefined alias {anchor}", place, f"define &{anchor} before it"
            )
        found = self._anchors[anchor]
        if found is None:
            raise Unreadable(
                f"holds an anchor that contains itself: {anchor}", place, "write it without anchors"
            )
        return found

    def _built(self, event: Any, place: Place, depth: int) -> YamlNode:  # noqa: ANN401
        if type(event) is _SCALAR:
            text = str(event.value)
            return YamlNode(_kind(event.tag, text, plain=event.implicit[0]), place, text)
        children: list[YamlNode] = []
        while type(following := self._loader.get_event()) not in _ENDS:
            children.append(self._node(following, depth + 1))
        if isinstance(event, yaml.SequenceStartEvent):
            return YamlNode(kind="seq", place=place, items=tuple(children))
        return YamlNode(kind="map", place=place, pairs=tuple(zip(children[::2], children[1::2], strict=True)))


def _kind(tag: str | None, text: str, *, plain: bool) -> str:
    if tag is not None and tag != "!":
        return tag.removeprefix(_TAG)
    if not plain:
        return "str"
    if text[:1] in _NUMERIC:
        return next((kind for kind, pattern in _NUMBERS.items() if re.fullmatch(pattern, text)), "str")
    return _WORDS.get(text, "str")


def _first_line(text: object) -> str:
    return (str(text or "unreadable").strip().splitlines() or ["unreadable"])[0]


# Bounded in time and memory whatever the file holds: size, number of values after anchors are followed,
# depth. YAML 1.2, as the rest of this program reads it; dates stay text.

MAX_BYTES = 1024 * 1024

MANIFEST_BYTES = 16 * MAX_BYTES
"""Bundles of many objects, such as those of custom resource definitions, are larger than any one of them."""

Path = tuple[str | int, ...]

_LONGEST_KEY = 512
"""Letters of a key up to which a dotted text is looked for in it."""
_START = re.compile(r"^(?:%[^\n]*\n)*---(?=\s|$)", re.MULTILINE)
_END = re.compile(r"[.\[]|$")


class Document(Struct, frozen=True, kw_only=True, dict=True):
    """A document of a file: its value, the place of every value in it, and its repeated keys."""

    file: str
    value: object
    places: dict[Path, Place]
    repeated: tuple[Unreadable, ...] = ()

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
        Unreadable: It is not valid YAML, no UTF-8, has a key twice, or is larger than anything a cluster
            takes.
    """
    if len(data) > MAX_BYTES:
        raise Unreadable(
            f"is larger than {MAX_BYTES} bytes, which are the most that are read",
            fix="write less into one file",
        )
    reader = _Reader(file)
    documents = [reader.document(node) for node in compose(_text(data))]
    for problem in reader.repeated:
        raise problem
    return documents


class Torn(Struct, frozen=True, kw_only=True):
    """A document that cannot be read, its text, and why."""

    text: str
    problem: Unreadable


def read_each(file: str, data: bytes) -> tuple[list[Document], list[Torn]]:
    """Read each document of a YAML file separately, so that an unreadable one hides no other.

    Of a repeated key the last value counts, as for kubectl.

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
        self.repeated: list[Unreadable] = []

    def document(self, node: YamlNode) -> Document:
        self.places, before = {(): node.place}, len(self.repeated)
        value = self.value(node, ())
        repeated = tuple(self.repeated[before:])
        return Document(file=self.file, value=value, places=self.places, repeated=repeated)

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
        is_joined = False
        for key, item in pairs:
            if key.pairs is not None or key.items is not None:
                raise Unreadable("has a key that is not a text", key.place)
            name = key.text
            if key.kind == "merge":
                merged += item.items if item.items is not None else [item]
                continue
            if name in result and not is_joined:
                is_joined = not path and name == "apiVersion"
                fix = "write --- between two objects" if is_joined else _once(result[name], item, path)
                self.repeated.append(Unreadable(f"holds the key {name!r} twice", key.place, fix))
            below = (*path, name)
            self.places[below] = key.place
            result[name] = self.value(item, below)
        for item in merged:
            if item.pairs is None:
                raise Unreadable("merges (<<) something that is not a mapping", item.place)
            result = {**self._mapping(item.pairs, path), **result}
        return result


def _once(first: object, second: YamlNode, path: Path) -> str:
    """Return the fix for a key that a mapping holds twice."""
    if not isinstance(first, dict) or second.pairs is None:
        return "remove one of the two"
    apart = "write ---, apiVersion and kind before the second if it is of another object"
    return "merge the two" if path else f"merge the two, or {apart}"


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


MAX_JSON_BYTES: Final = 50_000_000
MAX_JSON_DEPTH: Final = 128
"""Definitions of resources that hold whole pods reach 40."""
MAX_LINE_BYTES: Final = 16_000_000
MAX_LINES_BYTES: Final = 200_000_000
_DIGITS: Final = 20
"""Digits of the longest integer that a cluster or the engine accepts."""
_NO_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[^\[\]{}"]+', re.DOTALL)
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(data: bytes | str) -> object:
    """Parse a JSON text.

    Args:
        data: the text, or its bytes.

    Raises:
        Unreadable: It is not valid JSON, no UTF-8, too large, too deep, or holds a number that nothing takes.
    """
    if len(data) > MAX_JSON_BYTES:
        raise Unreadable(f"is larger than {MAX_JSON_BYTES} bytes, which are the most that are read")
    try:
        text = data.decode() if isinstance(data, bytes) else data
        data.encode() if isinstance(data, str) else None
    except UnicodeError:
        raise Unreadable("is not UTF-8 text", fix="save it as UTF-8") from None
    if _depth(text) > MAX_JSON_DEPTH:
        raise Unreadable(f"is nested more than {MAX_JSON_DEPTH} levels deep", fix="nest less")
    try:
        value: object = json.loads(
            text.removeprefix("\ufeff"),
            parse_int=_whole_in_json,
            parse_float=_decimal_in_json,
            parse_constant=_no_number,
        )
        if _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError:
        raise Unreadable("holds half a character, which is not text", fix="write whole characters") from None
    except json.JSONDecodeError as error:
        raise Unreadable(
            f"is not valid JSON: {error.msg}",
            Place(error.lineno, error.colno),
            "look at the quotes, commas and brackets there",
        ) from None
    return value


def read_json_file(path: FilePath) -> object:
    """Read a JSON file.

    Raises:
        OSError: There is no such file, or it cannot be read.
        Unreadable: As `read_json`.
    """
    with path.open("rb") as file:
        return read_json(file.read(MAX_JSON_BYTES + 1))


def bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file.

    Raises:
        Unreadable: A line, or all of them, are larger than is ever read.
    """
    total = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        total += len(line)
        if len(line) > MAX_LINE_BYTES:
            raise Unreadable(f"has a line of more than {MAX_LINE_BYTES} bytes")
        if total > MAX_LINES_BYTES:
            raise Unreadable(f"is larger than {MAX_LINES_BYTES} bytes, which are the most that are read")
        yield line


def _depth(text: str) -> int:
    """Return an upper bound of a text's depth of brackets; exact if it is small."""
    if text.count("[") + text.count("{") <= MAX_JSON_DEPTH:
        return 0
    deepest = depth = 0
    for bracket in _NO_BRACKET.sub("", text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _whole_in_json(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise Unreadable(f"holds a number of {len(digits)} digits; allowed: {_DIGITS}")
    return int(digits)


def _decimal_in_json(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Unreadable(f"holds the number {text}, which is too large")
    return number


def _no_number(text: str) -> Never:
    raise Unreadable(f"holds {text}, which is not a JSON number")
