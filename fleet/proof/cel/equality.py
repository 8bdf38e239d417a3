"""Where the evaluator is more lenient than a server: a version is never compared with a string.

``Equal`` of https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/cel/semver.go (and its neighbours)
refuses any other type, while the evaluator calls values of different types unequal. Only the left side
decides.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

from fleet.proof.cel import messages, syntax
from fleet.proof.cel.implementation import Implementation, unary

if TYPE_CHECKING:
    from fleet.proof.cel.syntax import Node, Tree

_OPERATORS = ("_==_", "_!=_")
_IS_OPAQUE = "fleet.isOpaque"
_EQUAL = "fleet.equal"
_DIFFER = "fleet.differ"
_NUMBER = "fleet.number"
_MEMBER = "fleet.member"
_NUMBERS = ("bool", "int", "uint", "double", "string", "duration", "timestamp")
_ANY = 1
_PLAIN = (
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


def guard(tree: Tree) -> None:
    """Rewrite in place: ``a == b`` becomes ``isOpaque(a) ? equal(a, b) : a == b`` if ``a`` may be opaque."""
    types = {entry.key: entry.value for entry in tree.types}
    ids = syntax.fresh_ids(tree)

    def change(node: Node) -> None:
        if node.WhichOneof("kind") != "call":
            return
        if node.call.function == "int" and _is_open(types.get(node.call.args[0].id)):
            node.call.args[0].CopyFrom(syntax.call(ids, _NUMBER, node.call.args[0]))
            return
        if node.call.function == "@in" and _is_empty_list(node.call.args[1]):
            # The server folds this to false without looking at the left side.
            node.constant.bool_value = False
            return
        if node.call.function == "@in" and _is_set(node.call.args[1]):
            node.call.args[0].CopyFrom(syntax.call(ids, _MEMBER, node.call.args[0]))
            return
        if node.call.function not in _OPERATORS:
            return
        kind = types.get(node.call.args[0].id)
        is_message = kind is not None and kind.WhichOneof("kind") == "message_type"
        if not (is_message or _is_open(kind)):
            return
        left, right = node.call.args
        equal = syntax.call(ids, _EQUAL, left, right)
        if node.call.function == "_!=_":
            equal = syntax.call(ids, _DIFFER, left, right)
        if is_message:
            syntax.replace(node, equal)
            return
        plain = syntax.call(ids, node.call.function, left, right)
        syntax.replace(node, syntax.call(ids, "_?_:_", syntax.call(ids, _IS_OPAQUE, left), equal, plain))

    syntax.rewrite(tree.expr, change)


def _is_open(kind: Node | None) -> bool:
    """Whether a type may turn out to be any other."""
    which = kind.WhichOneof("kind") if kind is not None else None
    return kind is None or which in (None, "dyn") or (which == "well_known" and kind.well_known == _ANY)


def _is_empty_list(node: Node) -> bool:
    return node.WhichOneof("kind") == "list" and not node.list.elements


def _is_set(node: Node) -> bool:
    """Whether a node is a list of constants, which a server turns into a set."""
    elements = node.list.elements if node.WhichOneof("kind") == "list" else ()
    return bool(elements) and all(element.WhichOneof("kind") == "constant" for element in elements)


def _equal(left: messages.Message, right: object) -> bool:
    if not messages.is_message(right) or messages.type_of(left) != messages.type_of(right):
        raise ValueError("no such overload")
    if getattr(right, messages.COMPUTED):
        raise ValueError("no such overload")
    return messages.text_of(left) == messages.text_of(right)


def _differ(left: messages.Message, right: object) -> bool:
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


def _member(value: object) -> object:
    # A server looks the value up in a set, which a version, holding slices, cannot be a member of.
    if messages.is_message(value) and messages.type_of(value) == "Semver":
        raise ValueError("internal error: runtime error: hash of unhashable type cel.Semver")
    return value


IMPLEMENTATIONS: dict[str, list[tuple[str, Implementation]]] = {
    _IS_OPAQUE: [("message", unary(lambda _: True)), *((kind, unary(lambda _: False)) for kind in _PLAIN)],
    _EQUAL: [("message any", _equal)],
    _NUMBER: [(kind, _number) for kind in _NUMBERS],
    _DIFFER: [("message any", _differ)],
    _MEMBER: [(kind, _member) for kind in ("message", *_PLAIN)],
}
