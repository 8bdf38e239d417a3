"""How much of a device a request consumes, and whether there is enough of it.

Source:
https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/structured/internal/incubating/consumable_capacity.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dra_fleet.proof.allocator.features import Features
    from dra_fleet.proof.allocator.inventory import Capacity, Device

Amounts = Mapping[str, Fraction]


def fits(device: Device, requested: Amounts, held: Amounts, tried: Amounts, features: Features) -> bool:
    """Whether a request can be had from a device beside what is held and tried already."""
    if any(name not in device.capacity for name in requested):
        return False
    for name, capacity in device.capacity.items():
        if not (capacity.has_policy or name in requested or name in held or name in tried):
            # Everything is consumed, of which nobody has anything.
            continue
        consumed = _consumption(capacity, requested.get(name), features)
        if _violates_policy(capacity, consumed, features):
            return False
        if consumed + held.get(name, 0) + tried.get(name, 0) > capacity.value:
            return False
    return True


def consumed_by(device: Device, requested: Amounts, features: Features) -> dict[str, Fraction]:
    """What a request takes from a shared device."""
    return {
        name: _consumption(capacity, requested.get(name), features)
        for name, capacity in device.capacity.items()
    }


def _consumption(capacity: Capacity, requested: Fraction | None, features: Features) -> Fraction:
    """A request rounded up to what can be had; the default, else everything, where none is made."""
    if requested is None:
        return capacity.value if capacity.default is None else capacity.default
    if capacity.least is not None:
        return _in_range(capacity, requested, capacity.least, features)
    return next((value for value in capacity.valid_values if requested <= value), requested)


def _in_range(capacity: Capacity, requested: Fraction, least: Fraction, features: Features) -> Fraction:
    if requested < least:
        return least
    if capacity.step is None:
        return requested
    if _counts_in_thousandths(capacity, features):
        return least + capacity.step * math.ceil((requested - least) / capacity.step)
    steps = Fraction(math.ceil(requested) - math.ceil(least), math.ceil(capacity.step))
    return Fraction(math.ceil(least) + math.ceil(capacity.step) * math.ceil(steps))


def _violates_policy(capacity: Capacity, consumed: Fraction, features: Features) -> bool:
    if capacity.most is not None and consumed > capacity.most:
        return True
    if capacity.step is not None:
        least = capacity.least or Fraction(0)
        if _counts_in_thousandths(capacity, features):
            return not _is_in_thousandths(consumed) or (consumed - least) % capacity.step != 0
        beyond = math.ceil(consumed) - math.ceil(least)
        return beyond % math.ceil(capacity.step) != 0
    return bool(capacity.valid_values) and consumed not in capacity.valid_values


def _counts_in_thousandths(capacity: Capacity, features: Features) -> bool:
    limits = [limit for limit in (capacity.least, capacity.most, capacity.step) if limit is not None]
    return features.fractional_ranges and all(map(_is_in_thousandths, limits))


def _is_in_thousandths(amount: Fraction) -> bool:
    """Whether so many thousandths are a whole number that a server can hold."""
    thousandths = amount * 1000
    return thousandths.denominator == 1 and abs(thousandths) <= _MOST_THOUSANDTHS


_MOST_THOUSANDTHS = 2**63 - 1
