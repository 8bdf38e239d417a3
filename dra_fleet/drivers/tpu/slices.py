"""What the TPU driver will publish on a node of a pool: its chips."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.tpu.chips import chips_of
from dra_fleet.drivers.tpu.devices import is_found, tpu_devices
from dra_fleet.drivers.value import Accelerators
from dra_fleet.model.nodes import GIVE_SLICES, Published

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.drivers.installed import Installed
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.plan import PoolPlan

_PER_HOST = frozenset({"uuid"})
_NOT_KNOWN = f"whether the driver finds the chips of such a machine is not known; {GIVE_SLICES}"


def serves(machine: Machine) -> bool:
    """Whether a machine has TPU chips."""
    return chips_of(machine) is not None


def accelerators_of(machine: Machine) -> Accelerators | None:
    """The TPU chips of a machine."""
    tpu = chips_of(machine)
    if tpu is None:
        return None
    return Accelerators(model=tpu.generation, count=tpu.chips, called=tpu.accelerator, topology=tpu.topology)


def accelerators() -> Mapping[str, int | None]:
    """None: its machines are Google's."""
    return {}


def publishes(pool: PoolPlan, driver: Installed, minor: str) -> Published:
    """One device per chip.

    Args:
        pool: the pool.
        driver: the TPU driver as it runs there.
        minor: the cluster's Kubernetes minor.
    """
    del minor
    facts, tpu = driver.facts, chips_of(pool.machine)
    name, told = facts.driver, frozenset({facts.driver})
    found = tpu is not None and is_found(tpu.generation, driver.version, facts)
    if tpu is None or not found:
        return Published(told=told, unpredictable={} if found is False else {name: _NOT_KNOWN})
    devices = tpu_devices(
        node="stand-in",
        generation=tpu.generation,
        accelerator=tpu.accelerator,
        chips=tpu.chips,
        topology=tpu.topology,
        published=facts.attributes_in(driver.version.version),
    )
    unsure = _PER_HOST | {item.name for item in facts.attributes if item.sometimes}
    return Published(devices=tuple(known_device(name, device, unsure) for device in devices), told=told)
