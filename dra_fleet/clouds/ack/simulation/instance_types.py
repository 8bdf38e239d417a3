"""What an instance type has: GPU machines from the catalogue, general ones by their published ratios."""

from __future__ import annotations

import re
from typing import Final

from dra_fleet.clouds.ack import CLOUD
from dra_fleet.clouds.ack.facts import ack_facts, is_mainland
from dra_fleet.clouds.ack.simulation.refusing import refuse
from dra_fleet.rehearsal.clouds.machine_types import InstanceType, cpus_of, near

_TYPE: Final = re.compile(r"ecs\.(?P<family>[a-z])(?P<generation>\d+)(?P<traits>[a-z]*)\.(?P<size>[a-z0-9]+)")
_GIB_PER_CPU: Final = {"g": 4, "c": 2, "r": 8}
"""https://www.alibabacloud.com/help/en/ecs/user-guide/overview-of-instance-families"""
_ARM: Final = re.compile(r"\d+y")
"""Families such as g8y are Yitian's, which is arm64."""


class EcsInstanceType(InstanceType):
    """One instance type of ECS."""

    @property
    def family(self) -> str:
        """Such as ecs.gn7i, of which quotas are."""
        return ".".join(self.name.split(".")[:2]).partition("-")[0]


def find_type(name: str) -> EcsInstanceType | None:
    """The instance type of that name; None where it is not known."""
    known = CLOUD.machines.get(name)
    if known is not None:
        return EcsInstanceType.of(known)
    match = _TYPE.fullmatch(name)
    cpus = cpus_of(match["size"]) if match else None
    if match is None or cpus is None or match["family"] not in _GIB_PER_CPU:
        return None
    arm = _ARM.fullmatch(match["generation"] + match["traits"]) is not None
    memory = cpus * _GIB_PER_CPU[match["family"]]
    return EcsInstanceType(name=name, cpus=cpus, memory_gib=memory, arch="arm64" if arm else "amd64")


def type_of(name: str, region: str) -> EcsInstanceType:
    """The instance type of that name.

    Raises:
        CloudRefusal: there is none, or not in this region.
    """
    found = find_type(name)
    abroad = ack_facts().abroad.machines
    if found is not None and not (name.startswith(abroad) and is_mainland(region)):
        return found
    # The words of ECS: https://github.com/AliyunContainerService/docker-machine-driver-aliyunecs/issues/40
    words = "This resource type is not supported; please try other resource types."
    if found is None:
        known = (
            f"nearest known: {near(name, CLOUD.machines)}. Add it to the catalogue of machines if it exists"
        )
    else:
        known = "it is offered outside of mainland China alone"
    raise refuse("InvalidResourceType.NotSupported", f"{words} {name} is not known in {region}; {known}")
