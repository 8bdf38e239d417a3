"""What a cloud's cluster is called in the world."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.clouds.refusals import CloudRefusal

LONGEST_NAME = 40


def world_name(name: str) -> str:
    """What a cloud's cluster is called in the world, whose names are short, lower-case and plain."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST_NAME].strip("-")


def free_name(name: str, planes: ManagedControlPlanes, refuse: Callable[[str], CloudRefusal]) -> str:
    """What a cloud's cluster to be made is called in the world: by that name all else finds it.

    Args:
        name: the cluster's in its cloud.
        planes: the control planes there are.
        refuse: the cloud's refusal where the name is taken, of the reason.

    Raises:
        CloudRefusal: it is taken.
    """
    found = world_name(name)
    if found in planes.names():
        raise refuse(
            f"(rehearsal) this rehearsal has a cluster {found} already, and a simulated cluster's name is "
            "its own in all clouds and stacks. Give it another name, end the other stack with "
            "`pulumi destroy`, or rehearse in another home: DRA_FLEET_HOME=DIRECTORY"
        )
    return found
