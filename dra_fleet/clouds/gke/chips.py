"""The TPU chips of Google's machines, as their driver reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet import drivers

if TYPE_CHECKING:
    from dra_fleet.drivers.value import Accelerators
    from dra_fleet.hardware.models import Machine

_TPU: Final = "tpu"


def chips_of(machine: Machine | None) -> Accelerators | None:
    """The chips of a machine; None where it has none, or where the machine is not known."""
    driver = drivers.named(_TPU)
    return None if machine is None or driver is None else driver.accelerators_of(machine)


def in_slice(machine: Machine, topology: str | None) -> Machine:
    """The machine as a node of a slice: each is known by the topology of the whole.

    Args:
        machine: any machine.
        topology: of the slice; None where a node is one by itself.
    """
    if topology is None or chips_of(machine) is None:
        return machine
    return machine.with_vendor(_TPU, topology=topology)
