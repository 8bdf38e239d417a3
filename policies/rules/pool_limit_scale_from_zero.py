"""A pool for DRA keeps a node, unless the autoscaler knows which devices its first node would have.

An autoscaler adds a node if it expects the waiting pod to fit there. Of an empty pool it must guess the
devices: those of AKS and EKS expect none, GKE's knows some accelerators and no partitions. Where it expects
none, the claim waits for a node that never comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet import hardware as catalogue
from dra_fleet.clouds.gke.labels import GPU_DRA, NO_PLUGIN
from dra_fleet.policy.reading.advertisers import advertisers
from dra_fleet.policy.reading.nodes import Nodes
from dra_fleet.policy.reading.pools import POOL_TYPES, pools
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Stack
    from dra_fleet.policy.reading.pools import Pool
    from dra_fleet.policy.rule import Settings

FACTS: Final = catalogue.load().gke.scale_from_zero
KNOWN: Final = ", ".join(entry.name for entry in FACTS.accelerators)
_SWITCHES: Final = {"aks": ("enableAutoScaling",), "eks": ("scalingConfig",), "gke": ("autoscaling",)}


def judge(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find pools that may be empty and would stay so."""
    del settings
    for resource in stack.of(POOL_TYPES):
        for pool in pools(resource):
            if pool.cloud == "gke" and _may_be_empty(pool):
                yield from _judge_gke(pool)
    drivers = [found for found in advertisers(stack) if found.kind == "dra"]
    nodes = Nodes(stack)
    for pool in nodes.with_gpus(drivers):
        served = any(nodes.chosen(driver, pool) for driver in drivers)
        if served and pool.cloud in ("aks", "eks") and _may_be_empty(pool):
            yield from _finding(
                pool, f"{pool.cloud.upper()}'s autoscaler does not know its devices", "1 or more"
            )


def _judge_gke(pool: Pool) -> Iterator[Finding]:
    if not any(pool.label(key).text == "true" for key in (GPU_DRA, NO_PLUGIN)):
        return
    for accelerator in pool.node("guestAccelerators").items:
        kind = accelerator.get("type")
        if kind.text is not None and FACTS.accelerator(kind.text) is None:
            reason = f"GKE's autoscaler does not know the devices of {kind.shown}"
            yield from _finding(pool, reason, f"1 or more; 0 with {KNOWN}")
        elif accelerator.get("gpuPartitionSize").given:
            reason = "GKE's autoscaler expects whole GPUs of a new node, no partitions"
            yield from _finding(pool, reason, "1 or more")


def _finding(pool: Pool, reason: str, allowed: str) -> Iterator[Finding]:
    yield Finding(
        pool.resource,
        pool.fewest,
        f"is {pool.fewest.shown}, and {reason}, so the pool {pool.name} stays empty while claims wait",
        allowed,
        f"set {pool.fewest.path[-1]}: 1",
    )


def _may_be_empty(pool: Pool) -> bool:
    """Whether an autoscaler may take the pool's last node away; nothing given means that it may."""
    switch = pool.get(*_SWITCHES[pool.cloud])
    if not switch.given or switch.flag is False:
        return False
    fewest, most = pool.fewest, pool.most
    return not fewest.unknown and not fewest.number and not (most.given and most.number == 0)


RULE = StackRule(
    name="pool-limit-scale-from-zero",
    description=(
        "Pools whose devices the cloud's autoscaler cannot predict keep a node, "
        "because no node is ever added for a claim that the autoscaler does not expect to fit."
    ),
    fix="Keep at least one node in the pool.",
    link="https://github.com/kubernetes/autoscaler/issues/7799",
    severity="medium",
    judge=judge,
)
