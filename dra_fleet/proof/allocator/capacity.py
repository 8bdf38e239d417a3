"""Share of a device that a request consumes, and whether enough of it is free.

The gate DRAFractionalCapacityRange is off by default before 1.38: 1.37 has it on only for clusters whose
minimum compatibility version is 1.37, and that is one lower by default. Sources:
https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/structured/internal/incubating/consumable_capacity.go,
https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.38.0-beta.0/structured/internal/stable/consumable_capacity.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.proof.allocator.inventory import LARGEST, in_thousandths

if TYPE_CHECKING:
    from dra_fleet.proof.allocator.counters import Features
    from dra_fleet.proof.allocator.inventory import AllocatableDevice, Amount, Capacity

Amounts = Mapping[str, "Amount"]


def fits(
    device: AllocatableDevice, requested: Amounts, in_use: Amounts, tried: Amounts, features: Features
) -> bool:
    """Return whether a request fits on a device in addition to the parts in use and already tried."""
    capacities = _capacities(device, features)
    requested, in_use = _spelled(device, requested, features), _spelled(device, in_use, features)
    if any(name not in capacities for name in requested):
        return False
    for name, capacity in capacities.items():
        if not (capacity.has_policy or name in requested or name in in_use or name in tried):
            # Everything is consumed, of which no one has anything.
            continue
        consumed = _consumption(capacity, requested.get(name))
        if _violates_policy(capacity, consumed):
            return False
        if consumed + in_use.get(name, 0) + tried.get(name, 0) > capacity.value:
            return False
    return True


def wrong_amount(device: AllocatableDevice, requested: Amounts, features: Features) -> str:
    """Return why Kubernetes 1.37 and later stop at a request or a policy; empty if they do not.

    Source:
    https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.37.2/structured/internal/incubating/consumable_capacity.go.
    """
    capacities = _capacities(device, features)
    given, requested = requested, _spelled(device, requested, features)
    if features.exact_capacity:
        twice = [name for name in given if _full(device, name) in given and name != _full(device, name)]
        if twice and all(name in capacities for name in requested):
            return f'capacity "{twice[0]}" requested both as "{twice[0]}" and as "{_full(device, twice[0])}"'
    if any(name not in capacities for name in requested):
        return ""
    for name, capacity in capacities.items():
        amount = requested.get(name)
        problem = "" if amount is None else _wrong_request(capacity, amount, features)
        if not problem and _consumption(capacity, amount) < 0:
            problem = _NEGATIVE
        if problem:
            return f'capacity "{_full(device, name) if features.exact_capacity else name}": {problem}'
    return ""


def consumed_by(device: AllocatableDevice, requested: Amounts, features: Features) -> dict[str, Amount]:
    """Return the capacity that a request consumes of a shared device, by published name."""
    requested = _spelled(device, requested, features)
    capacities = _capacities(device, features)
    return {name: _consumption(capacity, requested.get(name)) for name, capacity in capacities.items()}


def _capacities(device: AllocatableDevice, features: Features) -> Mapping[str, Capacity]:
    return device.exact_capacity if features.exact_capacity else device.capacity


def _full(device: AllocatableDevice, name: str) -> str:
    return name if "/" in name else f"{device.id.driver}/{name}"


def _spelled(device: AllocatableDevice, amounts: Amounts, features: Features) -> Amounts:
    """Return amounts by the names that a device publishes, with or without its driver's name."""
    if not features.exact_capacity:
        return amounts
    spelled: dict[str, Amount] = {}
    for name, value in amounts.items():
        full = _full(device, name)
        bare = full.removeprefix(f"{device.id.driver}/")
        spelled[bare if full not in device.capacity and bare in device.capacity else full] = value
    return spelled


def _wrong_request(capacity: Capacity, requested: Amount, features: Features) -> str:
    text = str(Quantity(Fraction(requested)))
    if features.exact_capacity and requested < 0:
        return f"{_NEGATIVE}: request {text}"
    if capacity.least is None or capacity.step is None or requested < capacity.least:
        return ""
    is_exact = capacity.counts_thousandths
    limit, problem = Fraction(LARGEST), ""
    if is_exact:
        limit = limit / 1000
        problem = "" if in_thousandths(requested) else "is not a representable milli value"
    elif requested > LARGEST:
        problem = "exceeds MaxInt64"
    if not problem and capacity.least >= 0 and _in_range(capacity, requested, capacity.least) > limit:
        beyond = "the milli-value range" if is_exact else "MaxInt64"
        return f"{_NOT_REPRESENTABLE}: rounding request {text} up to the next step passes {beyond}"
    return f"{_NOT_REPRESENTABLE}: request {text} {problem}" if problem else ""


_NOT_REPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"
_NEGATIVE = "capacity value is negative"


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
    if capacity.counts_thousandths:
        return least + capacity.step * math.ceil(Fraction(requested - least) / Fraction(capacity.step))
    step = math.ceil(capacity.step)
    steps = Fraction(math.ceil(requested) - math.ceil(least), step)
    return math.ceil(least) + step * math.ceil(steps)


def _violates_policy(capacity: Capacity, consumed: Amount) -> bool:
    if capacity.most is not None and consumed > capacity.most:
        return True
    if capacity.step is not None:
        least = capacity.least or 0
        if capacity.counts_thousandths:
            return not in_thousandths(consumed) or (consumed - least) % capacity.step != 0
        beyond = math.ceil(consumed) - math.ceil(least)
        return beyond % math.ceil(capacity.step) != 0
    return bool(capacity.valid_values) and consumed not in capacity.valid_values
