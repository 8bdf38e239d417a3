"""What the TPU driver will publish on a node of a pool: its chips."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.tpu.devices import tpu_devices
from dra_fleet.model.nodes import Published

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.driver import Installed
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.plan import PoolPlan

_PER_HOST = frozenset({"uuid"})


def serves(machine: Machine) -> bool:
    """Whether a machine has TPU chips."""
    return machine.tpu is not None


def accelerators() -> Sequence[str]:
    """None: its machines are Google's."""
    return ()


def publishes(pool: PoolPlan, driver: Installed, minor: str) -> Published:
    """One device per chip.

    Args:
        pool: the pool.
        driver: the TPU driver as it runs there.
        minor: the cluster's Kubernetes minor.
    """
    del minor
    name, tpu = driver.facts.driver, pool.machine.tpu
    devices = (
        tpu_devices(
            node="stand-in",
            generation=tpu.generation,
            accelerator=tpu.accelerator,
            chips=tpu.chips,
            topology=tpu.topology,
        )
        if tpu is not None
        else []
    )
    return Published(
        devices=tuple(known_device(name, device, _PER_HOST) for device in devices), told=frozenset({name})
    )
