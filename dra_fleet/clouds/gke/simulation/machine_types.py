"""What a machine type has: with accelerators from the catalogue, without by published ratios."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.gke import CLOUD
from dra_fleet.clouds.gke.chips import chips_of
from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from dra_fleet.hardware.models import Machine

_GENERAL: Final = re.compile(
    r"(?P<series>[a-z][0-9]+[a-z]?)-(?P<kind>standard|highmem|highcpu)-(?P<cpus>\d+)"
)
_GIB_PER_CPU: Final = {"standard": 4.0, "highmem": 8.0, "highcpu": 1.0}
"""https://cloud.google.com/compute/docs/general-purpose-machines; E2, N1, N2 and C are near it."""
_ACCELERATED: Final = ("a2", "a3", "a4", "a4x", "g2", "g4", "ct4p", "ct5lp", "ct5p", "ct6e")


@dataclass(frozen=True, kw_only=True)
class MachineType:
    """One machine type with the accelerators of a pool. `machine` is its entry in the catalogue."""

    name: str
    cpus: int
    memory_gib: int
    machine: Machine | None


def find_machine_type(name: str, accelerator: str | None, count: int) -> MachineType | None:
    """The machine type with this many accelerators of a type; None where it is not known.

    Args:
        name: such as "g2-standard-8".
        accelerator: such as "nvidia-l4"; None without.
        count: how many per node.
    """
    for machine in CLOUD.machines.values():
        if machine.cloud_type != name:
            continue
        if chips_of(machine) or (machine.accelerator == accelerator and machine.gpus == count):
            return MachineType(
                name=name,
                cpus=machine.cpus,
                memory_gib=machine.memory_gib or 4 * machine.cpus,
                machine=machine,
            )
    match = _GENERAL.fullmatch(name)
    if match and accelerator is None and match["series"] not in _ACCELERATED:
        cpus = int(match["cpus"])
        memory = round(cpus * _GIB_PER_CPU[match["kind"]])
        return MachineType(name=name, cpus=cpus, memory_gib=memory, machine=None)
    return None


def known_with(name: str) -> list[str]:
    """The accelerators a machine type can have, as "1 x nvidia-l4"."""
    return [
        f"{machine.gpus} x {machine.accelerator}"
        for machine in CLOUD.machines.values()
        if machine.gpus and machine.cloud_type == name
    ]


def known_names() -> set[str]:
    """The known machine types."""
    return {item.cloud_type for item in CLOUD.machines.values()}
