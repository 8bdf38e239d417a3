"""What operators that ready nodes for a driver are told by a cloud, and how one is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet import drivers

if TYPE_CHECKING:
    from dra_fleet.model.hardware import Machine


@dataclass(frozen=True, kw_only=True)
class HostDriver:
    """Node images of a cloud that bring the devices' driver.

    Attributes:
        runtime: the container runtime's handler there.
        setting: the value of a pool's `gpuDriver` that chooses such an image; empty where all of them are.
    """

    runtime: str
    setting: str = ""


NO_HOST_DRIVER = HostDriver(runtime="")
"""Of a cloud on which no operator is asked for."""


def how_to_ask(machine: Machine) -> str:
    """How a stack file asks for the operator that readies nodes of a machine; empty where there is none."""
    for driver in drivers.known():
        operator = driver.resources.operator if driver.operator and driver.serves(machine) else None
        if operator is not None:
            return f"add {driver.operator}: {{version: {operator.versions()[0].version}}} to the cluster"
    return ""
