"""The taints that keep pods off a pool's nodes: its own, and those that its cloud adds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet import hardware as catalogue
from dra_fleet.clouds.aks.labels import SPOT
from dra_fleet.policy.reading.pools import Taint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.policy.reading.pools import Pool

_KEEPING_OFF: Final = ("NoSchedule", "NoExecute")
_UNTIL_READY: Final = re.compile(r"(not-?ready|uninitialized)$")
"""Taints of a node's first minutes, which an agent takes away: https://docs.cilium.io/en/stable/installation/taints/."""


def declared_taints(pool: Pool) -> list[Taint]:
    """The pool's own taints that a pod must tolerate to run there; unknown ones are noted and left out."""
    return [
        taint for taint in pool.taints if taint.effect in _KEEPING_OFF and not _UNTIL_READY.search(taint.key)
    ]


def added_taints(pool: Pool) -> Iterator[Taint]:
    """The taints that a cloud puts on the pool's nodes by itself, some of them not in every cluster.

    https://learn.microsoft.com/azure/aks/spot-node-pool,
    https://cloud.google.com/kubernetes-engine/docs/how-to/node-taints
    """
    if pool.cloud == "aks" and pool.get("scaleSetPriority").text == "Spot":
        yield Taint(at=pool.at, key=SPOT, value="spot", effect="NoSchedule")
    if pool.cloud == "gke":
        for key, value in _of_google(pool).items():
            yield Taint(at=pool.at, key=key, value=value, effect="NoSchedule")


def _of_google(pool: Pool) -> Mapping[str, str]:
    machines = catalogue.load().machines
    known = [machines[name] for name in (each.text or "" for each in pool.machines) if name in machines]
    found: dict[str, str] = {}
    if pool.has_gpus:
        found["nvidia.com/gpu"] = "present"
    if any(machine.tpu is not None for machine in known):
        found["google.com/tpu"] = "present"
    if any(machine.arch == "arm64" for machine in known):
        found["kubernetes.io/arch"] = "arm64"
    return found
