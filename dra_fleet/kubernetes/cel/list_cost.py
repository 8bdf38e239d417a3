"""The worst-case cost of calls on lists and sets; a port of the estimators of cel-go's extensions.

Source: https://github.com/google/cel-go/blob/v0.29.2/ext/lists.go and sets.go.
"""

from __future__ import annotations

from collections.abc import Callable

from dra_fleet.kubernetes.cel.sizes import MOST, Range, Sizes, fixed
from dra_fleet.kubernetes.cel.syntax import Node

Result = tuple[Range, Range | None]
"""What a call costs, and how long its result can be."""
Rule = Callable[[Sizes, Node, str], Result | None]
"""Estimates a call, given the whole estimate, the call and the overload."""

_ONE = fixed(1)
_NEW_LIST = fixed(10)
_TEXT_LISTS = ("list<string>", "list<bytes>", "list_string_", "list_bytes_")
_TRAVERSAL = 0.1


def _sets(factor: float) -> Rule:
    def cost(tree: Sizes, node: Node, overload: str) -> Result | None:
        del overload
        left, right = node.call.args
        return tree.size(left).times(tree.size(right)).scaled(factor).plus(_ONE), None

    return cost


def _new_list(factor: float, size: Range) -> Result:
    return size.scaled(factor).plus(_ONE).plus(_NEW_LIST), size


def _written(node: Node, otherwise: int) -> int:
    which = node.constant.WhichOneof("kind") if node.WhichOneof("kind") == "constant" else None
    value = getattr(node.constant, which) if which in ("int64_value", "uint64_value") else None
    return otherwise if value is None else max(0, int(value))


def _slice(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    start, end = node.call.args
    taken = _written(end, tree.size(node.call.target).most) - _written(start, 0)
    return _new_list(1, fixed(taken % 2**64))


def _lists_range(tree: Sizes, node: Node, overload: str) -> Result | None:
    del tree, overload
    return _new_list(1, fixed(_written(node.call.args[0], MOST)))


def _reverse(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    return _new_list(1, tree.size(node.call.target))


def _flatten(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    depth = _written(node.call.args[0], MOST) if node.call.args else 1
    return _new_list(float(depth), tree.size(node.call.target))


def _distinct(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    size = tree.size(node.call.target)
    return _new_list(2, size.times(size))


def _sort(tree: Sizes, node: Node, overload: str) -> Result | None:
    """Of a list by itself, or by a list of keys."""
    size = tree.size(node.call.args[0] if node.call.args else node.call.target)
    is_text = overload.startswith(_TEXT_LISTS)
    return _new_list(2 + _TRAVERSAL if is_text else 2, size.times(size))


RULES: dict[str, Rule] = {
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
    "slice": _slice,
    "lists.range": _lists_range,
    "reverse": _reverse,
    "flatten": _flatten,
    "distinct": _distinct,
    "sort": _sort,
    "@sortByAssociatedKeys": _sort,
}
