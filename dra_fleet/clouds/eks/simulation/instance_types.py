"""What an instance type has: GPU machines from the catalogue, general ones by their published ratios."""

from __future__ import annotations

import re
from typing import Final

from dra_fleet import drivers
from dra_fleet.clouds.eks import CLOUD
from dra_fleet.rehearsal.clouds.machine_types import InstanceType, cpus_of

_TYPE: Final = re.compile(r"(?P<family>[a-z])(?P<generation>\d+)(?P<traits>[a-z-]*)\.(?P<size>[a-z0-9]+)")
_GIB_PER_CPU: Final = {"m": 4, "r": 8, "c": 2, "t": 4}
"""https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html"""


class Ec2InstanceType(InstanceType):
    """One instance type of EC2."""

    @property
    def cards(self) -> int:
        """How many network cards it has."""
        known = drivers.traits(CLOUD.machines[self.machine]).network_cards if self.machine else None
        return max(1, known.first + known.count if known else 0)


def find_type(name: str) -> Ec2InstanceType | None:
    """The instance type of that name; None where it is not known."""
    known = CLOUD.machines.get(name)
    if known is not None:
        return Ec2InstanceType.of(known)
    match = _TYPE.fullmatch(name)
    if match is None or match["family"] not in _GIB_PER_CPU:
        return None
    cpus = cpus_of(match["size"])
    if cpus is None:
        return None
    arm = match["traits"].startswith("g")
    memory = cpus * _GIB_PER_CPU[match["family"]]
    return Ec2InstanceType(name=name, cpus=cpus, memory_gib=memory, arch="arm64" if arm else "amd64")
