"""Strings in CEL: cel-go's extension library at version 2, which counts code points and clamps where Go does.

Source: https://github.com/google/cel-go/blob/v0.29.2/ext/strings.go.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.cel.implementation import Implementation, unary

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
_SPACE = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_ESCAPES = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _char_at(text: str, index: int) -> str:
    _within(text, index)
    return text[index : index + 1]


def _within(text: str, index: int) -> None:
    if not 0 <= index <= len(text):
        raise ValueError(f"index out of range: {index}")


def index_of(text: str, part: str, start: int = 0) -> int:
    """Where ``part`` first begins at or after ``start``, else -1."""
    if start < 0:
        raise ValueError(f"index out of range: {start}")
    return min(start, len(text)) if not part else text.find(part, start)


def last_index_of(text: str, part: str, start: int | None = None) -> int:
    """Where ``part`` last begins at or before ``start``, else -1."""
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise ValueError(f"index out of range: {start}")
    if not part:
        return min(start, len(text))
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


def index_of_any_start(text: str, part: str, start: int) -> int:
    """The same before cel-go 0.29: an empty part is found at any start, wherever that is."""
    return index_of(text, part, start) if part else start


def last_index_of_any_start(text: str, part: str, start: int) -> int:
    """The same before cel-go 0.29: an empty part is found at any start, wherever that is."""
    return last_index_of(text, part, start) if part else start


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, max(-1, min(limit, len(text) + 1)))


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    most = len(text) + 1 if limit < 0 else min(limit, len(text) + 1)
    if separator:
        return text.split(separator, most - 1)
    return [*text[: most - 1], *([text[most - 1 :]] if text[most - 1 :] else [])]


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise ValueError(f"invalid substring range. start: {start}, end: {end}")
    _within(text, start)
    _within(text, start if end is None else end)
    return text[start:end]


def _join(parts: Sequence[object], separator: str = "") -> str:
    if not all(isinstance(part, str) for part in parts):
        raise ValueError("no such overload")
    return separator.join(str(part) for part in parts)


IMPLEMENTATIONS: dict[str, list[tuple[str, Implementation]]] = {
    "charAt": [("string int", _char_at)],
    "lowerAscii": [("string", unary(lambda text: text.translate(_LOWER)))],
    "upperAscii": [("string", unary(lambda text: text.translate(_UPPER)))],
    "replace": [("string string string", _replace), ("string string string int", _replace)],
    "split": [("string string", _split), ("string string int", _split)],
    "substring": [("string int", _substring), ("string int int", _substring)],
    "trim": [("string", unary(lambda text: text.strip(_SPACE)))],
    "strings.quote": [("string", unary(lambda text: f'"{text.translate(_ESCAPES)}"'))],
    "join": [("list", _join), ("list string", _join)],
}
