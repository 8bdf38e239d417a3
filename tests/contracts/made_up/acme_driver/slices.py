"""What a driver that does not exist will publish: one lane for every 16 CPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.model.nodes import Published
from dra_fleet.model.published import PublishedDevice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.drivers.installed import Installed
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.plan import PoolPlan

_CPUS = 16


def serves(machine: Machine) -> bool:
    """Whether a machine is large enough for a lane."""
    return machine.cpus >= _CPUS


def accelerators_of(machine: Machine) -> None:
    """Nothing: any large machine has lanes."""
    del machine


def accelerators() -> Mapping[str, int | None]:
    """None: any large machine has lanes."""
    return {}


def publishes(pool: PoolPlan, driver: Installed, minor: str) -> Published:
    """The lanes of a node; their serial numbers are not known before it runs."""
    del minor
    name = driver.facts.driver
    devices = [
        PublishedDevice(
            name=f"lane-{number}",
            attributes={"model": "Lane 3", "serial": f"stand-in-{number}"},
            capacity={"memory": "4Gi"},
        )
        for number in range(pool.machine.cpus // _CPUS)
    ]
    return Published(
        devices=tuple(known_device(name, device, frozenset({"serial"})) for device in devices),
        told=frozenset({name}),
    )
