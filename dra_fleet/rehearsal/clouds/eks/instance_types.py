"""What an instance type has: GPU machines from the catalogue, general ones by their published ratios."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from dra_fleet import drivers
from dra_fleet.clouds.eks import CLOUD
from dra_fleet.rehearsal.clouds.machine_names import cpus_of

_TYPE: Final = re.compile(r"(?P<family>[a-z])(?P<generation>\d+)(?P<traits>[a-z-]*)\.(?P<size>[a-z0-9]+)")
_GIB_PER_CPU: Final = {"m": 4, "r": 8, "c": 2, "t": 4}
"""https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html"""


@dataclass(frozen=True, kw_only=True)
class InstanceType:
    """One instance type. `machine` is its name in the catalogue, None for a general one; memory in GiB."""

    name: str
    cpus: int
    memory_gib: int
    arch: Literal["amd64", "arm64"]
    machine: str | None = None
    gpu: str | None = None
    gpus: int = 0
    cards: int = 1


def find_type(name: str) -> InstanceType | None:
    """The instance type of that name; None where it is not known."""
    known = CLOUD.machines.get(name)
    if known is not None:
        cards = drivers.traits(known).network_cards
        return InstanceType(
            name=name,
            cpus=known.cpus,
            memory_gib=known.memory_gib or 4 * known.cpus,
            arch=known.arch or "amd64",
            machine=name,
            gpu=known.gpu,
            gpus=known.gpus,
            cards=max(1, cards.first + cards.count if cards else 0),
        )
    match = _TYPE.fullmatch(name)
    if match is None or match["family"] not in _GIB_PER_CPU:
        return None
    cpus = cpus_of(match["size"])
    if cpus is None:
        return None
    arm = match["traits"].startswith("g")
    memory = cpus * _GIB_PER_CPU[match["family"]]
    return InstanceType(name=name, cpus=cpus, memory_gib=memory, arch="arm64" if arm else "amd64")
