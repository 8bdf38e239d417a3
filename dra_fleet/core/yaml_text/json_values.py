"""Reads JSON that anybody may have written: bounded in size, depth and numbers, and fit to be printed."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Final, Never

from dra_fleet.core.yaml_text.nodes import Place, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

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
            text.removeprefix("\ufeff"), parse_int=_whole, parse_float=_decimal, parse_constant=_no_number
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


def read_json_file(path: Path) -> object:
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


def _whole(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise Unreadable(f"holds a number of {len(digits)} digits; allowed: {_DIGITS}")
    return int(digits)


def _decimal(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Unreadable(f"holds the number {text}, which is too large")
    return number


def _no_number(text: str) -> Never:
    raise Unreadable(f"holds {text}, which is not a JSON number")
