"""DRA drivers: a folder each, and one value that answers everything that is asked of it.

Others register theirs by entry points of the group `dra_fleet.drivers`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import asdict, replace

from dra_fleet.core.registry import Registry
from dra_fleet.drivers.base import Driver, MachineTraits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.drivers.common.facts import DriverFacts
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.settings import DescribedDevices, DriverSettings

BUILT_IN = ("nvidia", "amd", "intel", "tpu", "dranet", "dracpu", "example")


@cache
def _built_in() -> Mapping[str, Driver]:
    """Import the drivers of this package, whose settings a stack file's models read while they are built."""
    from dra_fleet.drivers.amd.driver import DRIVER as AMD
    from dra_fleet.drivers.dracpu.driver import DRIVER as DRACPU
    from dra_fleet.drivers.dranet.driver import DRIVER as DRANET
    from dra_fleet.drivers.example.driver import DRIVER as EXAMPLE
    from dra_fleet.drivers.intel.driver import DRIVER as INTEL
    from dra_fleet.drivers.nvidia.driver import DRIVER as NVIDIA
    from dra_fleet.drivers.tpu.driver import DRIVER as TPU

    built_in = (NVIDIA, AMD, INTEL, TPU, DRANET, DRACPU, EXAMPLE)
    return {driver.name: driver for driver in built_in}


_REGISTRY = Registry(
    kind=Driver, group="dra_fleet.drivers", built_in=BUILT_IN, load=lambda name: _built_in()[name]
)

__all__ = [
    "BUILT_IN",
    "Driver",
    "accelerators",
    "asked_for",
    "facts_of",
    "keeps_order",
    "known",
    "labels_nodes",
    "named",
    "names",
    "of_class",
    "publishing",
    "traits",
]


def named(name: str) -> Driver | None:
    """Return the driver with a name of stack files, or None."""
    return _REGISTRY.named(name)


def asked_for(name: str, settings: DriverSettings) -> Driver | None:
    """Return the driver that a cluster's settings request: a known driver, or the one they describe."""
    known_one = named(name)
    if settings.described is None or known_one is not None:
        return known_one
    return _described(name, settings.model_dump_json())


def names() -> list[str]:
    """Return the names of all drivers in stack files, the built-in ones first."""
    return _REGISTRY.names()


def known() -> Iterator[Driver]:
    """All drivers, the built-in ones first; those of other packages are looked for only after these."""
    return _REGISTRY.known()


def publishing(publisher: str) -> Driver | None:
    """Return the driver that publishes ResourceSlices under a name such as `gpu.nvidia.com`."""
    return next((driver for driver in known() if publisher in driver.publishers), None)


def keeps_order(publisher: str, *, with_counters: bool) -> bool:
    """Return True if the driver that publishes under a name always publishes its devices in one order."""
    driver = publishing(publisher)
    if driver is None:
        return False
    return (driver.order_with_counters if with_counters else driver.order) != "random"


def facts_of(publisher: str) -> DriverFacts | None:
    """Return the facts of the devices that are published under a name, or None."""
    return next((driver.facts for driver in known() if driver.facts.driver == publisher), None)


def as_published(item: DescribedDevices) -> DescribedDevices:
    """Return described devices with the keys that their driver writes into ResourceSlices."""
    facts = facts_of(item.driver)
    if facts is None:
        return item
    renamed = {
        field: {facts.key(name): value for name, value in values.items()}
        for field, values in (("attributes", item.attributes), ("capacity", item.capacity))
    }
    return item.model_copy(update=renamed)


def accelerators() -> Mapping[str, int | None]:
    """Return the accelerators of all drivers that can describe a machine, with their memory in MiB."""
    return {name: memory for driver in known() for name, memory in driver.accelerators().items()}


def in_place_of_plugins(machine: Machine) -> list[Driver]:
    """Return the drivers that publish devices of a machine that a device plugin could advertise instead."""
    return [driver for driver in known() if driver.extended_resource and driver.serves(machine)]


def traits(machine: Machine) -> MachineTraits:
    """Return the traits that drivers report for the devices in a machine's row."""
    found = MachineTraits()
    for driver in filter(None, map(named, machine.vendors)):
        known_drivers = {
            key: value for key, value in asdict(driver.traits(machine)).items() if value is not None
        }
        found = replace(found, **known_drivers)
    return found


def labels_nodes(key: str) -> bool:
    """Return True if the software of a driver's vendor puts a label with this key on nodes."""
    return any(driver.resources.node_labels.search(key) for driver in known())


def of_class(name: str) -> Driver | None:
    """Return the driver whose chart, in any version, installs the DeviceClass of a name."""
    return next((driver for driver in known() if name in driver.facts.owned_classes), None)


@cache
def _described(name: str, settings: str) -> Driver:
    """Return the same driver for the same description: drivers are distinguished by identity."""
    from dra_fleet.drivers.described import described

    return described(name, settings)
