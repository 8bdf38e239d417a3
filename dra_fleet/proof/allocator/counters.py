"""Shared counters: what the devices of a pool may consume together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.kubernetes.scheduling.node_affinity import all_labels, selects
from dra_fleet.proof.allocator.inventory import PoolId

if TYPE_CHECKING:
    from dra_fleet.proof.allocator.features import Features
    from dra_fleet.proof.allocator.inventory import AllocatableDevice, CandidateNode, InUse, Object
    from dra_fleet.proof.allocator.pools import Counters, DevicePool


class CounterLedger:
    """Counts what devices under trial consume.

    Up to 1.36 the scheduler keeps pools apart by name only, not by driver.
    """

    def __init__(self, in_use: InUse, features: Features) -> None:
        self._in_use = in_use
        self._by_name = features.counters_by_pool_name
        self._available: dict[PoolId, Counters] = {}
        self._consumed: dict[PoolId, Counters] = {}

    def reserve(self, pool: DevicePool, device: AllocatableDevice) -> bool:
        """Take a device's counters if none runs out."""
        key = self._key(pool)
        available = self._available.get(key)
        if available is None:
            available = self._available[key] = self._left(pool)
        self._book(pool, device, 1)
        consumed = self._consumed[key]
        for name, counters in available.items():
            taken = consumed.get(name, {})
            if any(left < taken.get(counter, 0) for counter, left in counters.items()):
                self.release(pool, device)
                return False
        return True

    def release(self, pool: DevicePool, device: AllocatableDevice) -> None:
        """Give a device's counters back."""
        self._book(pool, device, -1)

    def _book(self, pool: DevicePool, device: AllocatableDevice, sign: int) -> None:
        consumed = self._consumed.setdefault(self._key(pool), {})
        for name, counters in device.consumes:
            taken = consumed.setdefault(name, {})
            for counter, value in counters.items():
                taken[counter] = taken.get(counter, 0) + sign * value

    def _key(self, pool: DevicePool) -> PoolId:
        return PoolId("", pool.id.pool) if self._by_name else pool.id

    def _left(self, pool: DevicePool) -> Counters:
        left = {name: dict(counters) for name, counters in pool.counters.items()}
        for device in (*pool.devices, *pool.devices_elsewhere):
            if not self._in_use.holds(device.id):
                continue
            for name, counters in device.consumes:
                for counter, value in counters.items():
                    left[name][counter] -= value
        return left


def matches(node: CandidateNode, selection: Object) -> bool:
    """Whether a node is meant by ``nodeName``, ``allNodes`` or ``nodeSelector``, the first that is set."""
    name = selection.get("nodeName")
    if name:
        return bool(node.name == name)
    if selection.get("allNodes"):
        return True
    return selects(selection.get("nodeSelector"), all_labels(node.labels), node.name) == "yes"
