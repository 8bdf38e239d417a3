"""Rules on the devices of a node."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from dra_fleet.policy.reading.advertisers import Nodes, advertisers
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.clouds.resources import CloudDevicePlugin
    from dra_fleet.core.declared.resources import Stack
    from dra_fleet.policy.reading.advertisers import Advertiser
    from dra_fleet.policy.rule import Settings


# Each advertiser allocates the same GPU without knowing of the other. Both can be in one cluster on different
# pools, so the rule compares the pools that each one's pods can use, by labels and taints. If a program
# declares no pool, the rule checks if the two can run on the same nodes.
def _limit_advertisers(stack: Stack, _settings: Settings) -> Iterator[Finding]:
    installed = advertisers(stack)
    drivers = [found for found in installed if found.kind == "dra"]
    if not drivers:
        return
    nodes = Nodes(stack)
    pools = nodes.with_gpus(drivers)
    for first, second in combinations(sorted(installed, key=lambda found: found.kind), 2):
        if first.driver is not second.driver or first.kind != "dra":
            continue
        if nodes.homes.together(first.resource, second.resource):
            yield from _check_pair(first, second, pools, nodes)
    for pool in pools:
        chosen_by = [each for each in drivers if nodes.has_gpus(pool, each) and nodes.chosen(each, pool)]
        plugin = pool.cloud.device_plugin(stack, pool) if chosen_by else None
        if plugin is not None:
            yield from _check_pool(pool, plugin, [each for each in chosen_by if nodes.tolerated(each, pool)])


def _check_pair(
    driver: Advertiser, other: Advertiser, pools: Sequence[NodePool], nodes: Nodes
) -> Iterator[Finding]:
    pair = (driver, other)
    pools = [pool for pool in pools if nodes.has_gpus(pool, driver)]
    chosen = [pool for pool in pools if all(nodes.chosen(each, pool) for each in pair)]
    shared = sorted(pool.name for pool in chosen if all(nodes.tolerated(each, pool) for each in pair))
    if not shared and (pools or not driver.where.may_meet(other.where)):
        return
    if nodes.homes.undecided(driver.resource, other.resource):
        return  # noted: whether they meet is not known
    where = f"the pools {', '.join(shared)}" if shared else "the same nodes"
    yield Finding(
        other.resource,
        other.at,
        f"lets {other.title} advertise the GPUs of {where} beside {driver.title} ({driver.resource.name}), "
        "so two pods get the same GPU",
        "one advertiser for the GPUs of a node",
        other.off,
    )


def _check_pool(
    pool: NodePool, plugin: CloudDevicePlugin, drivers: Sequence[Advertiser]
) -> Iterator[Finding]:
    if drivers:
        yield Finding(
            pool.resource,
            plugin.at,
            f"lets {plugin.title} advertise the GPUs of the pool {pool.name} beside {drivers[0].title} "
            f"({drivers[0].resource.name}), so two pods get the same GPU",
            "one advertiser for the GPUs of a node",
            plugin.off,
        )


LIMIT_ADVERTISERS = StackRule(
    name="node-limit-advertisers",
    description=(
        "Either a DRA driver or a device plugin advertises the GPUs of a node, never both, because each "
        "allocates the same GPU without knowing about the other."
    ),
    fix="Disable the device plugin on the DRA driver's pools, or use different pools.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/",
    severity="critical",
    check=_limit_advertisers,
)

RULES = (LIMIT_ADVERTISERS,)
