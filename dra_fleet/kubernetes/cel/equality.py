"""Stricter equality than the evaluator's: a server never compares a version with a string.

``Equal`` of https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/cel/semver.go (and its neighbours)
rejects any other type, while the evaluator calls values of different types unequal. Only the left side
decides.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dra_fleet.kubernetes.cel import declarations, syntax

if TYPE_CHECKING:
    from dra_fleet.kubernetes.cel.syntax import Change, CheckedTree, Node


Implementation = Callable[..., Any]


def unary(function: Callable[[Any], object]) -> Implementation:
    return function


_HASHED = ("bool_value", "int64_value", "uint64_value", "double_value", "string_value")

_IS_OPAQUE = "fleet.isOpaque"

_EQUAL = "fleet.equal"

_DIFFER = "fleet.differ"

_NUMBER = "fleet.number"

_MEMBER = "fleet.member"

RANGE = "fleet.range"
"""Stands for `lists.range`, which the evaluator cannot make of a negative length."""

_NUMBERS = ("bool", "int", "uint", "double", "string", "duration", "timestamp")

_ANY = 1

PLAIN = (
    "null_type",
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "timestamp",
    "duration",
    "list",
    "map",
)
"""Kinds of values that compare as the language has it."""


def fold_empty_sets(checked: CheckedTree) -> bool:
    """Make ``x in []`` false in place, as a server does without looking at ``x``; whether there is any."""
    found = [node for node in checked.find("@in") if _is_empty(node.call.args[1])]
    for node in found:
        node.constant.bool_value = False
    return bool(found)


def _is_empty(node: Node) -> bool:
    return node.WhichOneof("kind") == "list" and not node.list.elements


def _convert(checked: CheckedTree, node: Node) -> None:
    (value,) = node.call.args
    if _is_open(checked.types.get(value.id)):
        value.CopyFrom(syntax.call(checked.ids, _NUMBER, value))


def _range(checked: CheckedTree, node: Node) -> None:
    del checked
    node.call.function = RANGE


def _compare(checked: CheckedTree, node: Node) -> None:
    function = _DIFFER if node.call.function == "_!=_" else _EQUAL
    left, right = node.call.args
    if _may_be_opaque(checked, left):
        _choose(checked, node, syntax.call(checked.ids, function, left, right))


def _look_up(checked: CheckedTree, node: Node) -> None:
    left, right = node.call.args
    if _is_set(right) and _may_be_opaque(checked, left):
        member = syntax.call(checked.ids, _MEMBER, left)
        _choose(checked, node, syntax.call(checked.ids, "@in", member, right))


def _choose(checked: CheckedTree, node: Node, if_opaque: Node) -> None:
    """Make a node of two operands another one where the left one is opaque."""
    left, right = node.call.args
    if _is_message(checked, left):
        syntax.replace(node, if_opaque)
        return
    plain = syntax.call(checked.ids, node.call.function, left, right)
    is_opaque = syntax.call(checked.ids, _IS_OPAQUE, left)
    syntax.replace(node, syntax.call(checked.ids, "_?_:_", is_opaque, if_opaque, plain))


def _is_message(checked: CheckedTree, node: Node) -> bool:
    kind = checked.types.get(node.id)
    return kind is not None and kind.WhichOneof("kind") == "message_type"


def _may_be_opaque(checked: CheckedTree, node: Node) -> bool:
    return _is_message(checked, node) or _is_open(checked.types.get(node.id))


def _is_open(kind: Node | None) -> bool:
    """Return True if a type may turn out to be any other."""
    which = kind.WhichOneof("kind") if kind is not None else None
    return kind is None or which in (None, "dyn") or (which == "well_known" and kind.well_known == _ANY)


def _is_set(node: Node) -> bool:
    """Return True if a node is a list of constants, which a server turns into a set."""
    elements = node.list.elements if node.WhichOneof("kind") == "list" else ()
    return bool(elements) and all(element.constant.WhichOneof("kind") in _HASHED for element in elements)


def _equal(left: declarations.Message, right: object) -> bool:
    if not declarations.is_message(right) or declarations.type_of(left) != declarations.type_of(right):
        raise ValueError("no such overload")
    if getattr(right, declarations.COMPUTED):
        raise ValueError("no such overload")
    return declarations.text_of(left) == declarations.text_of(right)


def _differ(left: declarations.Message, right: object) -> bool:
    # On a server `!=` asks whether the comparison gave true, and an error is not true.
    try:
        return not _equal(left, right)
    except ValueError:
        return True


def _number(value: object) -> object:
    if isinstance(value, bool):
        # The evaluator turns true into 1, a server does not.
        raise ValueError("no such overload: int(bool)")  # noqa: TRY004
    if isinstance(value, dt.datetime):
        return math.floor(value.timestamp())
    return value // dt.timedelta(microseconds=1) * 1000 if isinstance(value, dt.timedelta) else value


def _member(value: declarations.Message) -> declarations.Message:
    # A server looks the value up in a set, of which a version, holding slices, cannot be a member.
    if declarations.type_of(value) == "Semver":
        raise ValueError("internal error: runtime error: hash of unhashable type cel.Semver")
    return value


IMPLEMENTATIONS: dict[str, list[tuple[str, Implementation]]] = {
    _IS_OPAQUE: [("message", unary(lambda _: True)), *((kind, unary(lambda _: False)) for kind in PLAIN)],
    _EQUAL: [("message any", _equal)],
    _NUMBER: [(kind, _number) for kind in _NUMBERS],
    _DIFFER: [("message any", _differ)],
    _MEMBER: [("message", _member)],
}

CHANGES: dict[str, Change] = {
    "int": _convert,
    "lists.range": _range,
    "@in": _look_up,
    "_==_": _compare,
    "_!=_": _compare,
}
"""``a == b`` becomes ``isOpaque(a) ? equal(a, b) : a == b`` if ``a`` may be opaque, and the like."""


def binary(function: Callable[[Any, Any], object]) -> Implementation:
    """Return an implementation for two values."""
    return function
