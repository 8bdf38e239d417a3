"""A device that a driver will publish, with what no one can know of it yet."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.kubernetes.cel import ONE_OF, UNKNOWN, CelDevice
from dra_fleet.model.nodes import NodeDevice, Object, Origin, Published
from dra_fleet.model.specs import PublishedDevice, VersionAttribute

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from dra_fleet.drivers.common.facts import AttributeType
    from dra_fleet.model.plan import PoolPlan
    from dra_fleet.model.settings import DescribedDevices, VersionValue


class KnownDevice(Struct, frozen=True, kw_only=True, dict=True):
    """A known device.

    Attributes:
        title: for messages: `NVIDIA A100-SXM4-40GB`, or `1g.5gb of NVIDIA A100-SXM4-40GB`.
        driver: the name under which its driver publishes it.
        device: the resource.k8s.io/v1 form, with UNKNOWN for values that differ from host to host.
        whole_attributes: its attributes as a whole device, without those that only partitions have.
    """

    title: str
    driver: str
    device: dict[str, object]
    whole_attributes: Mapping[str, object]

    @cached_property
    def as_whole(self) -> CelDevice:
        """The same device if it said that it is whole."""
        return CelDevice.of({**self.device, "attributes": self.whole_attributes}, self.driver)

    @cached_property
    def cel(self) -> CelDevice:
        """The device as a selector sees it."""
        return CelDevice.of(self.device, self.driver)

    @property
    def attributes(self) -> Mapping[str, object]:
        """Its attributes by name."""
        return cast("Mapping[str, object]", self.device["attributes"])

    @property
    def capacity(self) -> Mapping[str, object]:
        """Its capacity by name."""
        return cast("Mapping[str, object]", self.device["capacity"])


def known_device(driver: str, device: PublishedDevice, unknown: frozenset[str]) -> NodeDevice:
    """Return a predicted device; the proof does not know the values of `unknown`, or only their bounds."""
    placed = device.to_object()
    attributes: Object = {
        name: dict.fromkeys(value, UNKNOWN) if name in unknown else value
        for name, value in placed["attributes"].items()
    }
    seen: Object = {**placed, "attributes": attributes}
    capacity: dict[str, Any] = placed.get("capacity", {})
    if capacity:
        seen["capacity"] = {
            name: {"value": UNKNOWN}
            if name in unknown and name not in device.others
            else one_of(value, device.others.get(name, ()))
            for name, value in capacity.items()
        }
    origins: dict[str, Origin] = {
        name: "unknown" if name in unknown else "documented" for name in (*attributes, *capacity)
    }
    return NodeDevice(driver=driver, name=device.name, seen=seen, placed=placed, origins=origins)


def one_of(capacity: Object, others: tuple[str, ...]) -> Object:
    """Return a capacity with all values that it may have, if others are known."""
    return {**capacity, ONE_OF: (capacity["value"], *others)} if others else capacity


def devices_text(
    pool: PoolPlan,
    publishers: Collection[str],
    always: Mapping[str, Mapping[str, AttributeType]] | None = None,
) -> Published:
    """Return the described devices of a pool's nodes under some drivers' names.

    Args:
        pool: the pool.
        publishers: the names.
        always: per name, the attributes that all of its devices have; unknown where no description has them.
    """
    devices = [
        _completed(known_device(item.driver, device, frozenset()), (always or {}).get(item.driver, {}))
        for item in pool.devices
        if item.driver in publishers
        for device in published_as(item)
    ]
    return Published(devices=tuple(devices), known_drivers=frozenset(publishers))


def _completed(device: NodeDevice, always: Mapping[str, AttributeType]) -> NodeDevice:
    described: Object = device.seen["attributes"]
    missing: Object = {
        name: {kind: UNKNOWN}
        for name, kind in always.items()
        if name not in described and f"{device.driver}/{name}" not in described
    }
    origins: Mapping[str, Origin] = {**dict.fromkeys(missing, "unknown"), **device.origins}
    return replace(device, seen={**device.seen, "attributes": {**missing, **described}}, origins=origins)


def type_of(value: str | bool | int | VersionValue) -> AttributeType:
    """Return the type of an attribute as it is described."""
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
    """Yield the devices of one node that a description means."""
    more: dict[str, Any] = {"allowMultipleAllocations": True} if item.shared else {}
    attributes = {
        key: value if isinstance(value, str | bool | int) else VersionAttribute(value.version)
        for key, value in item.attributes.items()
    }
    for index in range(item.count):
        yield PublishedDevice(
            name=f"{item.name}-{index}", attributes=attributes, capacity=item.capacity, more=more
        )
