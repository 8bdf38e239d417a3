"""A pool's node image, and the GPU driver for it, are built for the architecture of its machines.

If a pool names an image for another architecture, its nodes never start. Otherwise the image follows the
machine, but a cloud may build its GPU driver only for some images and architectures.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.reading.operators import installer_for, operators
from dra_fleet.policy.reading.partitions import POOL_TYPES, pools
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Stack
    from dra_fleet.policy.rule import Settings


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find pools whose image is not for their machines, or has no GPU driver for them."""
    del settings
    for resource in stack.of(POOL_TYPES):
        for pool in pools(resource):
            for fault in pool.cloud.wrong_images(stack, pool, partial(_is_installed, stack, pool)):
                yield Finding(pool.resource, fault.at, fault.problem, fault.allowed, fault.fix)


def _is_installed(stack: Stack, pool: NodePool) -> bool:
    """Return True if an operator installs the GPU driver on a pool's nodes."""
    return installer_for(pool, operators(stack), Homes(stack)) is not None


RULE = StackRule(
    name="pool-match-architecture",
    description=(
        "A pool's node image and GPU driver are built for the CPU architecture of its machines, because a"
        " node with another image never starts, and without a driver it has no GPUs."
    ),
    fix="Choose the image of the same family for the machine's CPU architecture.",
    link="https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-ami.html",
    severity="high",
    check=check,
)
