"""The pools of a stack, and on which of them drivers and device plugins run, as far as a program reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.advertisers import discovers
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.reading.partitions import POOL_TYPES, pools
from dra_fleet.policy.reading.placement import pool_labels
from dra_fleet.policy.reading.tolerations import declared_taints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.policy.reading.advertisers import Advertiser
    from dra_fleet.policy.reading.plugins import DriverPlugin


class Nodes:
    """The pools of a stack's clusters, and what runs on them.

    Attributes:
        homes: the clusters of the stack.
    """

    def __init__(self, stack: Stack) -> None:
        """Find the clusters."""
        self.homes = Homes(stack)
        self._stack = stack
        self._labelling = discovers(stack)

    def with_gpus(self, drivers: Sequence[Advertiser]) -> list[NodePool]:
        """Return the pools with GPUs of drivers in their clusters."""
        near = self._near([driver.resource for driver in drivers])
        return [pool for pool in near if any(pool.has_gpus_in(self._stack, each.driver) for each in drivers)]

    def served(self, plugin: DriverPlugin) -> list[NodePool]:
        """Return the pools whose devices a driver's plugin publishes, if it tolerates their taints."""
        return [
            pool
            for pool in self._near([plugin.resource])
            if plugin.publishes(self._stack, pool) and self.chosen(plugin, pool)
        ]

    def advertise(self, drivers: Sequence[Advertiser], pool: NodePool) -> bool:
        """Return whether one of the drivers may run on a pool and advertise its GPUs."""
        near = any(self.homes.together(pool.resource, driver.resource) for driver in drivers)
        return near and any(self.has_gpus(pool, each) and self.chosen(each, pool) for each in drivers)

    def has_gpus(self, pool: NodePool, advertiser: Advertiser) -> bool:
        """Return whether a pool has the GPUs that something advertises."""
        return pool.has_gpus_in(self._stack, advertiser.driver)

    def chosen(self, found: Advertiser | DriverPlugin, pool: NodePool) -> bool:
        """Return whether the labels of a pool match the node selector."""
        labelled = any(self.homes.together(pool.resource, chart) for chart in self._labelling)
        together = self.homes.together(pool.resource, found.resource)
        labels = pool_labels(pool, discovered=labelled or pool.cloud.labels_gpus)
        return together and found.where.may_match(labels)

    def tolerated(self, found: Advertiser, pool: NodePool) -> bool:
        """Return whether the pods tolerate a pool's declared taints; False if unknown, which is noted."""
        taints = declared_taints(pool)
        if pool.taint_list.possible and pool.taint_list.plain is None:
            return False
        if not taints or found.tolerated is None:
            return True
        return not found.tolerated.unknown and not found.tolerated.missing(taints)

    def _near(self, installed: Sequence[Resource]) -> list[NodePool]:
        return [
            pool
            for resource in self._stack.of(POOL_TYPES)
            if any(self.homes.together(resource, each) for each in installed)
            for pool in pools(resource)
        ]
