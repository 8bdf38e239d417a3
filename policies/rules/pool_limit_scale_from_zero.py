"""A pool for DRA keeps a node, unless the autoscaler knows which devices its first node would have.

An autoscaler adds a node if it expects the waiting pod to fit there. Of an empty pool it must guess the
devices: many expect none, some know a few accelerators and no partitions. If it expects none, the claim
waits for a node that is never created.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.advertisers import advertisers
from dra_fleet.policy.reading.nodes import Nodes
from dra_fleet.policy.reading.partitions import POOL_TYPES, pools
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Stack
    from dra_fleet.policy.rule import Settings


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find pools that may be empty and would stay so."""
    del settings
    drivers = [found for found in advertisers(stack) if found.replaces_plugin]
    nodes = Nodes(stack)
    for resource in stack.of(POOL_TYPES):
        for pool in pools(resource):
            for reason, allowed in pool.cloud.unpredicted(pool, nodes.advertise(drivers, pool)):
                yield _finding(pool, reason, allowed)


def _finding(pool: NodePool, reason: str, allowed: str) -> Finding:
    return Finding(
        pool.resource,
        pool.fewest,
        f"is {pool.fewest.shown}, and {reason}, so the pool {pool.name} stays empty while claims wait",
        allowed,
        f"set {pool.fewest.path[-1]}: 1",
    )


RULE = StackRule(
    name="pool-limit-scale-from-zero",
    description=(
        "Pools whose devices the autoscaler cannot predict keep at least one node, because the autoscaler"
        " adds no node for a claim that it does not expect to fit."
    ),
    fix="Keep at least one node in the pool.",
    link="https://github.com/kubernetes/autoscaler/issues/7799",
    severity="medium",
    check=check,
)
