"""Devices that a stack file describes, because no driver of this program can predict them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.model.nodes import Published
from dra_fleet.model.published import PublishedDevice, VersionAttribute

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dra_fleet.drivers.common.facts import AttributeType
    from dra_fleet.model.plan import PoolPlan
    from dra_fleet.model.pools import DescribedDevices, VersionValue


def told_devices(pool: PoolPlan, publishers: Collection[str]) -> Published:
    """What is described of a pool's nodes under some drivers' names; what is not described is not there.

    Args:
        pool: the pool.
        publishers: the names.
    """
    devices = [
        known_device(item.driver, device, frozenset())
        for item in pool.devices
        if item.driver in publishers
        for device in published_as(item)
    ]
    return Published(devices=tuple(devices), told=frozenset(publishers))


def type_of(value: str | bool | int | VersionValue) -> AttributeType:
    """The type of an attribute as it is described."""
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case str():
            return "string"
        case _:
            return "version"


def published_as(item: DescribedDevices) -> Iterator[PublishedDevice]:
    """The devices of one node that a description stands for."""
    more: dict[str, Any] = {"allowMultipleAllocations": True} if item.shared else {}
    attributes = {
        key: value if isinstance(value, str | bool | int) else VersionAttribute(value.version)
        for key, value in item.attributes.items()
    }
    for index in range(item.count):
        yield PublishedDevice(
            name=f"{item.name}-{index}",
            attributes=attributes,
            capacity=item.capacity,
            more=more,
        )
