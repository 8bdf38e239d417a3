"""Ranges of sizes and costs that never overflow, as cel-go counts them, and how long devices' fields can be.

Source of the fields: https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/cel/compile.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

from dra_fleet.kubernetes.cel.syntax import Node

MOST = 2**64 - 1

_ENTRIES, _DOMAIN, _ID, _VALUE, _DRIVER = 32, 63, 32, 64, 63

Path = tuple[str, ...]
"""The path in the variables that a value is read from."""


class Range(NamedTuple):
    """The least and the most something can be, up to 2^64 - 1."""

    least: int
    most: int

    def plus(self, other: Range) -> Range:
        return Range(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def times(self, other: Range) -> Range:
        return Range(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def scaled(self, factor: float) -> Range:
        """Return the product with a cost per unit, rounded up."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))

    def union(self, other: Range) -> Range:
        """Return the range that covers both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


class Entries(NamedTuple):
    """Sizes of the keys and values of a list or map."""

    is_list: bool
    key: Range
    value: Range

    def union(self, other: Entries | None) -> Entries | None:
        """Return the sizes of the entries of either."""
        return (
            None
            if other is None
            else Entries(self.is_list, self.key.union(other.key), self.value.union(other.value))
        )


class Sizes(Protocol):
    """Known sizes of an expression's values during the count of its cost."""

    def size(self, node: Node) -> Range:
        """Return the length of a node's value."""
        ...

    def computed_size(self, node: Node) -> Range | None:
        """Return the known length of a node's value, or None."""
        ...

    def entries(self, node: Node) -> Entries | None:
        """Return the length of the entries of a node's value."""
        ...

    def set_entries(self, node: Node, entries: Entries | None) -> None:
        """Remember how long the entries of a node's value can be."""
        ...

    def type_of(self, node: Node) -> Node | None:
        """Return the type message of a node."""
        ...

    def path(self, node: Node) -> Path:
        """Return the path in the variables that a node's value is read from; empty if there is none."""
        ...


def fixed(value: int) -> Range:
    """Exactly this."""
    return Range(value, value)


UNKNOWN_SIZE = Range(0, MOST)


def _scaled(value: int, factor: float) -> int:
    return min(math.ceil(float(value) * factor), MOST)


def size_at(path: Path) -> Range | None:
    """Return the length of a value at a path in the device, as far as the API limits it."""
    if not path or path[0] != "device":
        return None
    steps = path[1:]
    sizes: dict[Path, int] = {("driver",): _DRIVER, ("allowMultipleAllocations",): 1}
    if steps in sizes:
        return Range(0, sizes[steps])
    if steps[:1] not in (("attributes",), ("capacity",)):
        return None
    inside = [
        "@keys" if step == "@keys" else "@values" if step in ("@values", "@items") else "."
        for step in steps[1:]
    ]
    return _size_inside(inside, is_attribute=steps[0] == "attributes")


def _size_inside(steps: list[str], *, is_attribute: bool) -> Range | None:
    if not steps:
        return Range(0, _ENTRIES)
    if steps == ["@keys"]:
        return Range(0, _DOMAIN)
    if steps[0] != "@values":
        return None
    if len(steps) == 1:
        return Range(0, _ENTRIES)
    if steps[1:] == ["@keys"]:
        return Range(0, _ID)
    is_value = steps[1:] == ["@values"] or (is_attribute and steps[1:] == ["."])
    return Range(0, _VALUE if is_attribute else 0) if is_value else None


# The worst-case cost of calls on lists and sets; a port of the estimators of cel-go's extensions.
#
# Source: https://github.com/google/cel-go/blob/v0.29.2/ext/lists.go and sets.go.

Result = tuple[Range, Range | None]
"""The cost of a call, and the length of its result."""

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
    """Return the size of a list sorted by itself or by a list of keys."""
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


def _new_list(factor: float, size: Range) -> Result:
    return size.scaled(factor).plus(_ONE).plus(_NEW_LIST), size


def _written(node: Node, otherwise: int) -> int:
    which = node.constant.WhichOneof("kind") if node.WhichOneof("kind") == "constant" else None
    value = getattr(node.constant, which) if which in ("int64_value", "uint64_value") else None
    return otherwise if value is None else max(0, int(value))
