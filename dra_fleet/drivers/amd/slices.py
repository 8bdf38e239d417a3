"""What AMD's driver will publish on a node of a pool: whole GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.drivers.amd.gpus import amd_devices, gpus_of
from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.value import Accelerators
from dra_fleet.model.nodes import Published

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.drivers.installed import Installed
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.plan import PoolPlan

_PER_HOST: Final = frozenset({"numaNode"})
_VIRTUAL: Final = frozenset({"productName", "memory", "computeUnits", "simdUnits"})
"""What virtual functions report is not public."""


def serves(machine: Machine) -> bool:
    """Whether a machine has AMD GPUs."""
    return gpus_of(machine) is not None


def accelerators_of(machine: Machine) -> Accelerators | None:
    """The AMD GPUs of a machine."""
    found = gpus_of(machine)
    return None if found is None else Accelerators(model=found.model, count=found.gpus)


def accelerators() -> Mapping[str, int | None]:
    """None: machines with AMD GPUs are described by their rows."""
    return {}


def publishes(pool: PoolPlan, driver: Installed, minor: str) -> Published:
    """One device per GPU.

    Args:
        pool: the pool.
        driver: AMD's driver as it runs there.
        minor: the cluster's Kubernetes minor.
    """
    del minor
    facts, found = driver.facts, gpus_of(pool.machine)
    if found is None:
        return Published(told=frozenset({facts.driver}))
    unknown = _PER_HOST | _VIRTUAL if found.is_virtual else _PER_HOST
    devices = (known_device(facts.driver, device, unknown) for device in amd_devices(found))
    return Published(devices=tuple(devices), told=frozenset({facts.driver}))
