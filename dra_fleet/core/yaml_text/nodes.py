"""Composes YAML into nodes that remember where they stand, with a bound on their number and depth.

libyaml finds the events; nothing is ever built that a bound does not allow. Plain values are read by the
rules of YAML 1.2, as the rest of this program reads them.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@dataclasses.dataclass(slots=True, eq=False)
class YamlNode:
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
