"""Which devices can no longer be had, since the counters that they share with others would run out."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.devices.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.model.nodes import NodeDevice, Object


def blocked(
    devices: Sequence[NodeDevice], counters: Mapping[str, Sequence[Object]], used: Iterable[tuple[str, str]]
) -> frozenset[tuple[str, str]]:
    """The devices that cannot be had beside those in use, since their counters would run out."""
    consuming = [device for device in devices if device.placed.get("consumesCounters")]
    if not consuming:
        return frozenset()
    left = {
        (driver, entry["name"], counter): Quantity.parse(value["value"]).amount
        for driver, sets in counters.items()
        for entry in sets
        for counter, value in entry["counters"].items()
    }
    taken = set(used)
    for device in consuming:
        if device.key in taken:
            for key, value in _consumption(device):
                left[key] = left.get(key, Fraction(0)) - value
    return frozenset(
        device.key
        for device in consuming
        if any(value > left.get(key, 0) for key, value in _consumption(device))
    )


def _consumption(device: NodeDevice) -> list[tuple[tuple[str, str, str], Fraction]]:
    return [
        ((device.driver, entry["counterSet"], counter), Quantity.parse(value["value"]).amount)
        for entry in device.placed.get("consumesCounters", ())
        for counter, value in entry["counters"].items()
    ]
