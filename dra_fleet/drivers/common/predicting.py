"""A device that a driver will publish, with what nobody can know of it yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.kubernetes.cel import ONE_OF, UNKNOWN
from dra_fleet.model.nodes import NodeDevice, Object, Origin

if TYPE_CHECKING:
    from dra_fleet.model.published import PublishedDevice


def known_device(driver: str, device: PublishedDevice, unknown: frozenset[str]) -> NodeDevice:
    """A predicted device: `unknown` values stand in for themselves."""
    placed = device.to_object()
    attributes: Object = {
        name: dict.fromkeys(value, UNKNOWN) if name in unknown else value
        for name, value in placed["attributes"].items()
    }
    seen: Object = {**placed, "attributes": attributes}
    capacity: dict[str, Any] = placed.get("capacity", {})
    if capacity:
        seen["capacity"] = {
            name: {"value": UNKNOWN} if name in unknown else one_of(value, device.others.get(name, ()))
            for name, value in capacity.items()
        }
    origins: dict[str, Origin] = {
        name: "unknown" if name in unknown else "documented" for name in (*attributes, *capacity)
    }
    return NodeDevice(driver=driver, name=device.name, seen=seen, placed=placed, origins=origins)


def one_of(capacity: Object, others: tuple[str, ...]) -> Object:
    """A capacity beside all values that it may have, where others are known."""
    return {**capacity, ONE_OF: (capacity["value"], *others)} if others else capacity
