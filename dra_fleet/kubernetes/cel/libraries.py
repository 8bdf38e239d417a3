"""Functions of Kubernetes' CEL libraries, and a workaround for loops that end early.

An implementation gets plain Python values and messages; a ``ValueError`` becomes a run-time error. The
evaluator picks it by name and kinds only. IP addresses, URLs and formats are compiled and not evaluated: no
selector of a driver, chart or upstream test uses them.
Source: https://github.com/kubernetes/apiserver/tree/v0.36.3/pkg/cel/library and github.com/google/cel-go/ext.
"""

from __future__ import annotations

import datetime as dt
import itertools
import string
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

from dra_fleet.kubernetes.cel import declarations, equality, minors, semver, syntax
from dra_fleet.kubernetes.cel.equality import Implementation, binary, unary
from dra_fleet.kubernetes.cel.verdict import BEYOND

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dra_fleet.kubernetes.cel.declarations import Message
    from dra_fleet.kubernetes.cel.syntax import Change, CheckedTree, Node


# Strings in CEL: cel-go's extension library at version 2, which counts code points and clamps where Go does.
#
# Source: https://github.com/google/cel-go/blob/v0.29.2/ext/strings.go.

INSERT = "cel.@mapInsert"
"""The function that `transformMap` and `transformMapEntry` call; the evaluator lacks its implementation."""
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


def index_of(text: str, part: str, start: int = 0) -> int:
    """Return the first position of ``part`` at or after ``start``, or -1."""
    if start < 0:
        raise ValueError(f"index out of range: {start}")
    return min(start, len(text)) if not part else text.find(part, start)


def last_index_of(text: str, part: str, start: int | None = None) -> int:
    """Return the last position of ``part`` at or before ``start``, or -1."""
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise ValueError(f"index out of range: {start}")
    if not part:
        return min(start, len(text))
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


def index_of_any_start(text: str, part: str, start: int) -> int:
    """Do the same as before cel-go 0.29: an empty part is found at any start."""
    return index_of(text, part, start) if part else start


def last_index_of_any_start(text: str, part: str, start: int) -> int:
    """Do the same as before cel-go 0.29: an empty part is found at any start."""
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


TEXT_IMPLEMENTATIONS: dict[str, list[tuple[str, Implementation]]] = {
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

Value = Any

Pattern = Any
"""A compiled re2 expression; the library has no types."""

_re2: Any = re2

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


def _amount(message: Message) -> Fraction:
    if declarations.type_of(message) != "Quantity":
        raise ValueError("no such overload")
    return _fraction(declarations.text_of(message))


@lru_cache(maxsize=4096)
def _fraction(written: str) -> Fraction:
    return Fraction(written)


def _version(message: Message) -> semver.Semver:
    if declarations.type_of(message) != "Semver":
        raise ValueError("no such overload")
    return semver.parse(declarations.text_of(message))


def _compare(left: Message, right: Message) -> int:
    if declarations.type_of(left) != declarations.type_of(right):
        raise ValueError("no such overload")
    if declarations.type_of(left) == "Quantity":
        return _order(_amount(left), _amount(right))
    return _order(_version(left).order, _version(right).order)


def _order(left: Value, right: Value) -> int:
    return (left > right) - (left < right)


def _holds(read: Callable[..., object]) -> Implementation:
    def is_readable(*arguments: Value) -> bool:
        try:
            read(*arguments)
        except ValueError:
            return False
        return True

    return is_readable


def _normalised(written: str, normalise: bool) -> Message:
    return declarations.version(semver.normalise(written) if normalise else written)


def _as_integer(message: Message) -> int:
    amount = _amount(message)
    if (
        declarations.is_never_integer(message)
        or amount.denominator != 1
        or not _INT_MIN <= amount <= _INT_MAX
    ):
        raise ValueError("cannot convert value to integer")
    return int(amount)


def _is_integer(message: Message) -> bool:
    _amount(message)
    return bool(_holds(_as_integer)(message))


def _added(sign: int) -> Implementation:
    def add(left: Message, right: Message | int) -> Message:
        other = Fraction(right) if isinstance(right, int) else _amount(right)
        not_integer = any(
            declarations.is_message(term) and declarations.is_never_integer(term) for term in (left, right)
        )
        return declarations.make(
            "Quantity", str(_amount(left) + sign * other), not_integer=not_integer, computed=True
        )

    return add


def _same(left: Value, right: Value) -> bool:
    """CEL equality: numbers by value, never a bool with a number."""
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))  # pyright: ignore[reportUnknownArgumentType]
    return bool(left == right)


def _index(values: Sequence[Value], item: Value) -> int:
    return next((index for index, value in enumerate(values) if _same(value, item)), -1)


def _last_index(values: Sequence[Value], item: Value) -> int:
    return max((index for index, value in enumerate(values) if _same(value, item)), default=-1)


def _sum(values: Sequence[Value]) -> Value:
    start = dt.timedelta() if values and isinstance(values[0], dt.timedelta) else 0
    total = sum(values, start)  # type: ignore[arg-type]
    if isinstance(total, int) and not _INT_MIN <= total <= _INT_MAX:
        raise ValueError("integer overflow")
    return total


def _extreme(name: str, choose: Callable[[Sequence[Value]], Value]) -> Implementation:
    def find(values: Sequence[Value]) -> Value:
        if not values:
            raise ValueError(f"{name} called on empty list")
        return choose(values)

    return find


def _is_sorted(values: Sequence[Value]) -> bool:
    return all(not left > right for left, right in itertools.pairwise(values))


def _contains_all(values: Sequence[Value], requested: Sequence[Value]) -> bool:
    return all(_index(values, item) >= 0 for item in requested)


def _equivalent(left: Sequence[Value], right: Sequence[Value]) -> bool:
    return _contains_all(left, right) and _contains_all(right, left)


def _intersects(left: Sequence[Value], right: Sequence[Value]) -> bool:
    return any(_index(left, item) >= 0 for item in right)


def _includes(target: Value, item: Value) -> bool:
    if isinstance(target, list):
        return _index(cast("Sequence[Value]", target), item) >= 0
    return _same(target, item)


@lru_cache(maxsize=256)
def _pattern(expression: str) -> Pattern:
    options = _re2.Options()
    options.log_errors = False
    try:
        return _re2.compile(expression, options)
    except _re2.error as problem:
        raise ValueError(f"Illegal regex: {problem}") from problem


def _find(searched: str, pattern: str) -> str:
    match = _pattern(pattern).search(searched)
    return str(match[0]) if match else ""


def _find_all(searched: str, pattern: str, limit: int = -1) -> list[str]:
    found: list[str] = [str(match[0]) for match in _pattern(pattern).finditer(searched)]
    return found if limit < 0 else found[:limit]


def _range(length: int) -> list[int]:
    if length < 0:
        raise ValueError(f"lists.range: size must be non-negative, got {length}")
    if length > _LONGEST_RANGE:
        raise ValueError(f"lists.range: size {length} exceeds the limit of {_LONGEST_RANGE}")
    return list(range(length))


_LONGEST_RANGE = 1_000_000

_LARGEST_MAP = 1_000


def _insert(target: dict[Value, Value], more: dict[Value, Value]) -> dict[Value, Value]:
    if len(target) >= _LARGEST_MAP:  # each insertion copies the map
        raise ValueError(f"a transformed map of more than {_LARGEST_MAP} entries {BEYOND}")
    for key in more:
        if key in target:
            raise ValueError(f"insert failed: key {key} already exists")
    return target | more


# name: (kinds of the parameters, implementation); declarations.py says which are members.
IMPLEMENTATIONS: dict[str, list[tuple[str, Implementation]]] = {
    "quantity": [("string", declarations.quantity)],
    "isQuantity": [("string", _holds(declarations.quantity))],
    "sign": [("message", unary(lambda value: _order(_amount(value), 0)))],
    "isInteger": [("message", _is_integer)],
    "asInteger": [("message", _as_integer)],
    "asApproximateFloat": [("message", unary(lambda value: float(_amount(value))))],
    "isGreaterThan": [("message message", binary(lambda left, right: _compare(left, right) > 0))],
    "isLessThan": [("message message", binary(lambda left, right: _compare(left, right) < 0))],
    "compareTo": [("message message", _compare)],
    "add": [("message message", _added(1)), ("message int", _added(1))],
    "sub": [("message message", _added(-1)), ("message int", _added(-1))],
    "semver": [("string", declarations.version), ("string bool", _normalised)],
    "isSemver": [("string", _holds(declarations.version)), ("string bool", _holds(_normalised))],
    "major": [("message", unary(lambda value: _version(value).numbers[0]))],
    "minor": [("message", unary(lambda value: _version(value).numbers[1]))],
    "patch": [("message", unary(lambda value: _version(value).numbers[2]))],
    "int": [("duration", unary(lambda value: value // dt.timedelta(microseconds=1) * 1000))],
    "sum": [("list", _sum)],
    "min": [("list", _extreme("min", min))],
    "max": [("list", _extreme("max", max))],
    "isSorted": [("list", _is_sorted)],
    "includes": [("any any", _includes)],
    "indexOf": [("list any", _index), ("string string", index_of), ("string string int", index_of)],
    "lastIndexOf": [
        ("list any", _last_index),
        ("string string", last_index_of),
        ("string string int", last_index_of),
    ],
    "find": [("string string", _find)],
    "findAll": [("string string", _find_all), ("string string int", _find_all)],
    "sets.contains": [("list list", _contains_all)],
    "sets.equivalent": [("list list", _equivalent)],
    "sets.intersects": [("list list", _intersects)],
    equality.RANGE: [("int", _range)],
    INSERT: [("map map", _insert)],
    **TEXT_IMPLEMENTATIONS,
}

BEFORE_CEL_GO_29: dict[str, list[tuple[str, Implementation]]] = {
    "indexOf": [("list any", _index), ("string string", index_of), ("string string int", index_of_any_start)],
    "lastIndexOf": [
        ("list any", _last_index),
        ("string string", last_index_of),
        ("string string int", last_index_of_any_start),
    ],
    equality.RANGE: [("int", unary(lambda length: _range(max(length, 0))))],
}
"""Differences of cel-go 0.26.

An empty part is found where the search starts, and a range of negative length is empty.
"""


def implementations(minor: int) -> dict[str, list[tuple[str, Implementation]]]:
    """Return the functions' implementations in Kubernetes 1.``minor``."""
    return IMPLEMENTATIONS | (BEFORE_CEL_GO_29 if minor < minors.CEL_GO_29_SINCE else {})


def is_pattern(expression: str) -> bool:
    """Return True if a regular expression can be compiled."""
    try:
        _pattern(expression)
    except ValueError:
        return False
    return True


def _within(text: str, index: int) -> None:
    if not 0 <= index <= len(text):
        raise ValueError(f"index out of range: {index}")


# In version 0.1.3 ``[1, 2].exists(x, x == 1) && cel.bind(v, 1, v == 1)`` is false, because an early end
# leaves state that a later loop reads. A loop that runs to its end gives the same result: once ``true``
# decides an ``exists``, or ``false`` an ``all``, nothing that follows changes it, not even an error.


_MAP_KEY_VALUE = 3


def _insert_map(checked: CheckedTree, node: Node) -> None:
    """Rewrite in place: ``@mapInsert(m, k, v)`` becomes ``@mapInsert(m, {k: v})``, which is implemented."""
    if len(node.call.args) == _MAP_KEY_VALUE:
        target, key, value = node.call.args
        one = type(node)(id=next(checked.ids))
        entry = one.struct.entries.add(id=next(checked.ids))
        entry.map_key.CopyFrom(key)
        entry.value.CopyFrom(value)
        syntax.replace(node, syntax.call(checked.ids, INSERT, target, one))


def _run_to_its_end(checked: CheckedTree, node: Node) -> None:
    """Rewrite in place: no loop that has something to go through stops before its end."""
    del checked
    if not _is_binding(node):
        node.comprehension.loop_condition.constant.bool_value = True


def _is_binding(node: Node) -> bool:
    """Return True if a loop is an expanded ``cel.bind``, which iterates over nothing."""
    return bool(node.comprehension.loop_condition.constant.WhichOneof("kind")) and not (
        node.comprehension.loop_condition.constant.bool_value
    )


CHANGES: dict[str, Change] = {INSERT: _insert_map, "comprehension": _run_to_its_end}
