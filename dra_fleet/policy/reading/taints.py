"""The taints that keep pods off a pool's nodes: its own, and those that its cloud adds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.kubernetes.scheduling.taints import Taint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.pools import NodePool

_UNTIL_READY: Final = re.compile(r"(not-?ready|uninitialized)$")
"""Taints of a node's first minutes, which an agent takes away: https://docs.cilium.io/en/stable/installation/taints/."""


def declared_taints(pool: NodePool) -> list[Taint]:
    """The pool's own taints that a pod must tolerate to run there; unknown ones are noted and left out."""
    return [taint for taint in pool.taints if taint.keeps_off and not _UNTIL_READY.search(taint.key)]


def added_taints(pool: NodePool) -> Iterator[Taint]:
    """The taints that a cloud puts on the pool's nodes by itself, some of them not in every cluster."""
    for key, value in pool.cloud.added_taints(pool):
        yield Taint(key=key, value=value, effect="NoSchedule")
