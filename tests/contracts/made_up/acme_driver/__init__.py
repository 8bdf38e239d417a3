"""A driver of a vendor that does not exist, as another package would add it: one lane per 16 CPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from typing_extensions import override

from dra_fleet.core.findings.errors import Refusal
from dra_fleet.drivers.base import Driver
from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.resources import DriverResources
from dra_fleet.model.nodes import Published
from dra_fleet.model.specs import PublishedDevice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.base import Release
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ChartValues, PoolPlan

_CPUS = 16


class Acme(Driver):
    name = "acme"
    publishers = {"lanes.acme.example": "acme-lane-plugin"}
    intents = {"product": "model", "memory": "memory"}
    plugin_section = "plugin"
    resources = DriverResources(known_by="machines", program=re.compile(r"acme-lane-plugin"))

    @override
    def values(self, release: Release) -> ChartValues:
        return {"speed": "full"}

    @override
    def guards(self, release: Release, final: ChartValues) -> Sequence[Refusal]:
        speed = value_at(final, "speed")
        if speed in ("full", "half"):
            return ()
        return (Refusal(path="speed", what="is not a speed of a lane", got=str(speed), allowed="full, half"),)

    @override
    def serves(self, machine: Machine) -> bool:
        return machine.cpus >= _CPUS

    @override
    def predict(self, pool: PoolPlan, installed: Installed, minor: str) -> Published:
        name = self.facts.driver
        devices = [
            PublishedDevice(
                name=f"lane-{number}",
                attributes={"model": "Lane 3", "serial": f"lane-{number}"},
                capacity={"memory": "4Gi"},
            )
            for number in range(pool.machine.cpus // _CPUS)
        ]
        return Published(
            devices=tuple(known_device(name, device, frozenset({"serial"})) for device in devices),
            known_drivers=frozenset({name}),
        )

    @override
    def node_side(self) -> object:
        from acme_driver.simulation.node_side import NODE_SIDE

        return NODE_SIDE


DRIVER = Acme()
