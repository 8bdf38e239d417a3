"""What a VM size has: GPU machines from the catalogue, general ones by their published ratios."""

from __future__ import annotations

from typing import Final

from dra_fleet import drivers
from dra_fleet.clouds.aks import CLOUD
from dra_fleet.clouds.aks.simulation.limits import SIZE
from dra_fleet.rehearsal.clouds.machine_types import InstanceType

_GIB_PER_CPU: Final = {"D": 4, "E": 8, "F": 2}
"""https://learn.microsoft.com/azure/virtual-machines/sizes/overview: general purpose, memory, compute."""
_MIG_PROFILE: Final = {"MIG1g": "1g.", "MIG2g": "2g.", "MIG3g": "3g.", "MIG4g": "4g.", "MIG7g": "7g."}


def find_size(name: str) -> InstanceType | None:
    """The size of that name in any case, as Azure takes it; None where it is not known."""
    known = next((item for item in CLOUD.machines.values() if item.name.lower() == name.lower()), None)
    if known is not None:
        return InstanceType.of(known)
    match = SIZE.fullmatch(name)
    if match and match["series"] in _GIB_PER_CPU:
        cpus = int(match["cpus"])
        memory = cpus * _GIB_PER_CPU[match["series"]]
        return InstanceType(name=name, cpus=cpus, memory_gib=memory)
    return None


def mig_layout(size: InstanceType, profile: str) -> dict[str, int] | None:
    """The partitions `gpuInstanceProfile` makes on each GPU; None where its GPU cannot be partitioned so.

    https://learn.microsoft.com/azure/aks/gpu-multi-instance
    """
    start = next((text for key, text in _MIG_PROFILE.items() if key.lower() == profile.lower()), "?")
    fitting = {
        name: most
        for driver in drivers.known()
        if driver.resources.dividable is not None
        for name, most in (driver.resources.dividable.layouts(size.gpu or "") or {}).items()
        if name.startswith(start) and "+" not in name
    }
    name = max(fitting, key=lambda name: fitting[name], default=None)
    return None if name is None else {name: fitting[name]}
