"""A pool's node image is built for the processor of its machines.

A node whose image has another architecture never starts; the group waits for it and fails after its time.
Judged where a pool names both, which is on EKS: the other clouds choose the image by the machine.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fleet import catalogue
from policies.reading.machines import machines_of
from policies.reading.pools import POOL_TYPES, pools
from policies.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.catalogue.eks import EksImage
    from policies.reading.pools import Pool
    from policies.resources import Stack
    from policies.rule import Settings
    from policies.values import Value

# Graviton: https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
ARM: Final = re.compile(r"(a1|[a-z]+\d+g[a-z]*)\.[\w-]+")


def judge(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find node groups whose image and machines differ."""
    del settings
    for resource in stack.of(POOL_TYPES):
        for pool in pools(resource):
            image = catalogue.load().eks.image(pool.image.text or "") if pool.cloud == "eks" else None
            if image is None:
                continue
            for machine in machines_of(stack, pool):
                yield from _judge(pool, image, machine)


def _judge(pool: Pool, image: EksImage, machine: Value) -> Iterator[Finding]:
    wanted = _architecture(machine.text or "")
    if wanted is None or wanted == image.arch:
        return
    facts = catalogue.load().eks
    allowed = [each.name for each in facts.images if (each.arch, each.nvidia) == (wanted, image.nvidia)]
    yield Finding(
        pool.resource,
        pool.image,
        f"is {pool.image.shown}, an image for {image.arch}, and {machine.shown} is {wanted}",
        ", ".join(allowed),
        f"set amiType: {allowed[0]}",
    )


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
        "A pool's node image is built for the processor of its machines, "
        "because a node with another one never starts."
    ),
    fix="Choose the image of the same family for the machine's processor.",
    link="https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-ami.html",
    severity="high",
    judge=judge,
)
