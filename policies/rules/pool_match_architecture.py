"""A pool's node image, and the GPU driver that there is for it, are built for the processor of its machines.

On EKS a pool names the image itself; a node with one for another processor never starts. On GKE the image
follows the machine, but Google builds its GPU driver for some images and processors only. AKS chooses both by
the machine.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet import hardware as catalogue
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.reading.machines import known_machines, machines_of
from dra_fleet.policy.reading.operators import installer_for, operators
from dra_fleet.policy.reading.pools import POOL_TYPES, pools
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.eks.facts import EksImage
    from dra_fleet.declared.resources import Stack
    from dra_fleet.declared.values import Value
    from dra_fleet.hardware.models import Machine
    from dra_fleet.policy.reading.pools import Pool
    from dra_fleet.policy.rule import Settings

# Graviton: https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
ARM: Final = re.compile(r"(a1|[a-z]+\d+g[a-z]*)\.[\w-]+")


def judge(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find pools whose image is not for their machines, or has no GPU driver for them."""
    del settings
    for resource in stack.of(POOL_TYPES):
        for pool in pools(resource):
            if pool.cloud == "eks":
                yield from _judge_eks(stack, pool)
            elif pool.cloud == "gke":
                yield from _judge_gke(stack, pool)


def _judge_eks(stack: Stack, pool: Pool) -> Iterator[Finding]:
    image = catalogue.load().eks.image(pool.image.text or "")
    for machine in machines_of(stack, pool) if image is not None else []:
        wanted = _architecture(machine.text or "")
        if image is not None and wanted is not None and wanted != image.arch:
            yield _of_eks(pool, image, machine, wanted)


def _of_eks(pool: Pool, image: EksImage, machine: Value, wanted: str) -> Finding:
    facts = catalogue.load().eks
    allowed = [each.name for each in facts.images if (each.arch, each.nvidia) == (wanted, image.nvidia)]
    return Finding(
        pool.resource,
        pool.image,
        f"is {pool.image.shown}, an image for {image.arch}, and {machine.shown} is {wanted}",
        ", ".join(allowed),
        f"set amiType: {allowed[0]}",
    )


def _judge_gke(stack: Stack, pool: Pool) -> Iterator[Finding]:
    for machine in known_machines(stack, pool):
        allowed = _images_with_driver(machine) if machine.gpus else []
        if not allowed or pool.image.absent or (pool.image.text or "").upper() in allowed:
            continue
        if pool.image.unknown or installer_for(pool, operators(stack), Homes(stack)) is not None:
            continue
        yield Finding(
            pool.resource,
            pool.image,
            f"is {pool.image.shown}, for which Google has no GPU driver for {machine.arch}, the processor of "
            f"{machine.name}",
            ", ".join(allowed),
            f"set imageType: {allowed[0]}",
        )


def _images_with_driver(machine: Machine) -> list[str]:
    """The images of GKE with a GPU driver for a machine's processor; none if that is every image known."""
    facts = catalogue.load().gke
    found = {installer.image for installer in facts.installers if installer.arch == machine.arch}
    return [] if found == {image.name for image in facts.images} else sorted(found)


def _architecture(name: str) -> str | None:
    """The processor of a machine, by the catalogue, else by its name; None for what is no name of one."""
    known = catalogue.load().machines.get(name)
    if known is not None and known.arch is not None:
        return known.arch
    if ARM.fullmatch(name):
        return "arm64"
    return "amd64" if "." in name else None


RULE = StackRule(
    name="pool-match-architecture",
    description=(
        "A pool's node image, and the GPU driver for it, are built for the processor of its machines, "
        "because a node with another image never starts and one without a driver has no GPUs."
    ),
    fix="Choose the image of the same family for the machine's processor.",
    link="https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-ami.html",
    severity="high",
    judge=judge,
)
