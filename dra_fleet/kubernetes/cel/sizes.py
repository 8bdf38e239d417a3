"""Ranges of sizes and costs that never overflow, as cel-go counts them, and how long devices' fields can be.

Source of the fields: https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/cel/compile.go.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from dra_fleet.kubernetes.cel.syntax import Node

MOST = 2**64 - 1
_ENTRIES, _DOMAIN, _ID, _VALUE, _DRIVER = 32, 63, 32, 64, 63

Path = tuple[str, ...]
"""Where in the variables a value comes from."""


class Range(NamedTuple):
    """The least and the most something can be, up to 2^64 - 1."""

    least: int
    most: int

    def plus(self, other: Range) -> Range:
        """The sum."""
        return Range(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def times(self, other: Range) -> Range:
        """The product."""
        return Range(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def scaled(self, factor: float) -> Range:
        """The product with a cost per unit, rounded up."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))

    def union(self, other: Range) -> Range:
        """The range that covers both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


class Entries(NamedTuple):
    """Sizes of the keys and values of a list or map."""

    is_list: bool
    key: Range
    value: Range

    def union(self, other: Entries | None) -> Entries | None:
        """The sizes of the entries of either."""
        return (
            None
            if other is None
            else Entries(self.is_list, self.key.union(other.key), self.value.union(other.value))
        )


class Sizes(Protocol):
    """What is known of the sizes of an expression's values while its cost is counted."""

    def size(self, node: Node) -> Range:
        """How long a node's value can be."""
        ...

    def computed_size(self, node: Node) -> Range | None:
        """How long a node's value can be, as far as that can be told."""
        ...

    def entries(self, node: Node) -> Entries | None:
        """How long the entries of a node's value can be."""
        ...

    def set_entries(self, node: Node, entries: Entries | None) -> None:
        """Remember how long the entries of a node's value can be."""
        ...

    def type_of(self, node: Node) -> Node | None:
        """The type message of a node."""
        ...

    def path(self, node: Node) -> Path:
        """Where in the variables a node's value comes from, else empty."""
        ...


def fixed(value: int) -> Range:
    """Exactly this."""
    return Range(value, value)


UNKNOWN_SIZE = Range(0, MOST)


def _scaled(value: int, factor: float) -> int:
    return min(math.ceil(float(value) * factor), MOST)


def size_at(path: Path) -> Range | None:
    """How long a value at a place in the device can be, as far as the API limits it."""
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
