"""Which machines a pool's nodes are, and their facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet import hardware as catalogue

if TYPE_CHECKING:
    from dra_fleet.declared.resources import Stack
    from dra_fleet.declared.values import Value
    from dra_fleet.hardware.models import GpuModel, Machine
    from dra_fleet.policy.reading.pools import Pool

_TEMPLATES: Final = re.compile(r"aws:ec2/launchTemplate:LaunchTemplate|aws-native:ec2:LaunchTemplate")


def machines_of(stack: Stack, pool: Pool) -> list[Value]:
    """The names of a pool's machines; on EKS the launch template it depends on may hold the name."""
    if pool.cloud != "eks" or not pool.get("instanceTypes").absent:
        return pool.machines
    needed = [stack.by_urn[urn] for urn in pool.resource.dependencies if urn in stack.by_urn]
    templates = [each for each in needed if _TEMPLATES.fullmatch(each.type)]
    own = [each.get("instanceType") for each in templates]
    return [*own, *(each.get("launchTemplateData", "instanceType") for each in templates)]


def known_machines(stack: Stack, pool: Pool) -> list[Machine]:
    """The machines of a pool that the catalogue knows; on GKE the accelerator tells as well."""
    machines = catalogue.load().machines
    found = [machines.get(name.text or "") for name in machines_of(stack, pool)]
    if pool.cloud == "gke" and not any(found):
        kinds = [each.get("type").text or "none" for each in pool.node("guestAccelerators").items]
        whole = [each for each in machines.values() if each.cloud == "gke" and each.gpu_fraction is None]
        found = [next((each for each in whole if each.accelerator == kind), None) for kind in kinds]
    return [machine for machine in found if machine is not None]


def gpu_of(machine: Machine) -> GpuModel | None:
    """The GPU model of a machine, if it has one."""
    return None if machine.gpu is None else catalogue.load().gpus.get(machine.gpu)
