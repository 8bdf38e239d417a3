"""Share of a device that a request consumes, and whether enough of it is free.

The gate DRAFractionalCapacityRange is off by default in every minor: 1.37 has it on only for clusters whose
minimum compatibility version is 1.37, and that is one lower by default. Source:
https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/structured/internal/incubating/consumable_capacity.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.devices.quantity import Quantity

if TYPE_CHECKING:
    from dra_fleet.proof.allocator.inventory import AllocatableDevice, Amount, Capacity

Amounts = Mapping[str, "Amount"]


def fits(device: AllocatableDevice, requested: Amounts, in_use: Amounts, tried: Amounts) -> bool:
    """Return whether a request fits on a device in addition to the parts in use and already tried."""
    if any(name not in device.capacity for name in requested):
        return False
    for name, capacity in device.capacity.items():
        if not (capacity.has_policy or name in requested or name in in_use or name in tried):
            # Everything is consumed, of which no one has anything.
            continue
        consumed = _consumption(capacity, requested.get(name))
        if _violates_policy(capacity, consumed):
            return False
        if consumed + in_use.get(name, 0) + tried.get(name, 0) > capacity.value:
            return False
    return True


def wrong_amount(device: AllocatableDevice, requested: Amounts) -> str:
    """Return why Kubernetes 1.37 and later stop at a request or a policy; empty if they do not.

    Source:
    https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.37.2/structured/internal/incubating/consumable_capacity.go.
    """
    if any(name not in device.capacity for name in requested):
        return ""
    for name, capacity in device.capacity.items():
        amount = requested.get(name)
        problem = "" if amount is None else _beyond_range(capacity, amount)
        if not problem and _consumption(capacity, amount) < 0:
            problem = "capacity value is negative"
        if problem:
            return f'capacity "{name}": {problem}'
    return ""


def _beyond_range(capacity: Capacity, requested: Amount) -> str:
    if capacity.least is None or capacity.step is None or requested < capacity.least:
        return ""
    text = str(Quantity(Fraction(requested)))
    if requested > _LARGEST:
        return f"{_NOT_REPRESENTABLE}: request {text} exceeds MaxInt64"
    if capacity.least >= 0 and _in_range(capacity, requested, capacity.least) > _LARGEST:
        return f"{_NOT_REPRESENTABLE}: rounding request {text} up to the next step passes MaxInt64"
    return ""


_LARGEST = 2**63 - 1
_NOT_REPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"


def consumed_by(device: AllocatableDevice, requested: Amounts) -> dict[str, Amount]:
    """Return the capacity that a request consumes of a shared device."""
    return {name: _consumption(capacity, requested.get(name)) for name, capacity in device.capacity.items()}


def _consumption(capacity: Capacity, requested: Amount | None) -> Amount:
    """Round a request up to an available amount; without one return the default, otherwise everything."""
    if requested is None:
        return capacity.value if capacity.default is None else capacity.default
    if capacity.least is not None:
        return _in_range(capacity, requested, capacity.least)
    return next((value for value in capacity.valid_values if requested <= value), requested)


def _in_range(capacity: Capacity, requested: Amount, least: Amount) -> Amount:
    if requested < least:
        return least
    if capacity.step is None:
        return requested
    step = math.ceil(capacity.step)
    steps = Fraction(math.ceil(requested) - math.ceil(least), step)
    return math.ceil(least) + step * math.ceil(steps)


def _violates_policy(capacity: Capacity, consumed: Amount) -> bool:
    if capacity.most is not None and consumed > capacity.most:
        return True
    if capacity.step is not None:
        least = capacity.least or 0
        beyond = math.ceil(consumed) - math.ceil(least)
        return beyond % math.ceil(capacity.step) != 0
    return bool(capacity.valid_values) and consumed not in capacity.valid_values
