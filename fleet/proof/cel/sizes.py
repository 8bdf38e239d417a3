"""Ranges of sizes and costs that never overflow, as cel-go counts them."""

from __future__ import annotations

import math
from typing import NamedTuple

MOST = 2**64 - 1


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


def fixed(value: int) -> Range:
    """Exactly this."""
    return Range(value, value)


UNKNOWN_SIZE = Range(0, MOST)


def _scaled(value: int, factor: float) -> int:
    return min(math.ceil(float(value) * factor), MOST)
