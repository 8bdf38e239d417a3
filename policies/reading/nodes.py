"""The pools with GPUs, and on which of them a DRA driver or a device plugin runs, as a program tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policies.reading.advertisers import discovers
from policies.reading.homes import Homes
from policies.reading.pools import POOL_TYPES, pools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policies.reading.advertisers import Advertiser
    from policies.reading.pools import Pool
    from policies.resources import Stack


class GpuNodes:
    """The pools with GPUs in the clusters of drivers, and what runs on them.

    Attributes:
        homes: the clusters of the stack.
        pools: the pools.
    """

    def __init__(self, stack: Stack, drivers: Sequence[Advertiser]) -> None:
        """Find the pools in the drivers' clusters."""
        self.homes = Homes(stack)
        self._labelling = discovers(stack)
        self.pools = [
            pool
            for resource in stack.of(POOL_TYPES)
            if any(self.homes.together(resource, driver.resource) for driver in drivers)
            for pool in pools(resource)
            if pool.has_gpus
        ]

    def run(self, found: Advertiser, pool: Pool) -> bool:
        """Whether an advertiser may run on a pool."""
        labelled = any(self.homes.together(pool.resource, chart) for chart in self._labelling)
        together = self.homes.together(pool.resource, found.resource)
        # EKS's images label their nodes themselves.
        return together and found.where.may_include(pool, discovered=labelled or pool.cloud == "eks")
