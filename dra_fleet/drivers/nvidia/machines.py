"""What the machines of clouds say of their NVIDIA GPUs beside their model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.nvidia import DRIVER
from dra_fleet.drivers.value import MachineTraits
from dra_fleet.facts.entry import Fact

if TYPE_CHECKING:
    from dra_fleet.hardware.models import Machine


class _Gpus(Fact):
    """What a machine's row says of its GPUs.

    `mig`: False where MIG cannot be used although the GPUs have it. `managed_mig`: whether the cloud makes
    partitions itself. `min_driver`: the branch of the driver that they need at least.
    """

    mig: bool | None = None
    managed_mig: bool | None = None
    min_driver: int | None = None


def traits(machine: Machine) -> MachineTraits:
    """What is told of a machine's GPUs."""
    told = machine.of_vendor(DRIVER.name, _Gpus) or _Gpus()
    return MachineTraits(
        divisible=told.mig, divided_by_cloud=told.managed_mig, least_host_driver=told.min_driver
    )
