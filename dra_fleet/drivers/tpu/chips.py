"""The TPU chips of a machine, as the machines of clouds describe them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.tpu import DRIVER
from dra_fleet.facts.entry import Fact

if TYPE_CHECKING:
    from dra_fleet.hardware.models import Machine


class Chips(Fact):
    """The TPU chips of one node. `topology`: of the slice that is this one node, or that it is a part of."""

    generation: str
    accelerator: str
    chips: int
    topology: str


def chips_of(machine: Machine) -> Chips | None:
    """The chips of a machine; None where it has none."""
    return machine.of_vendor(DRIVER.name, Chips)
