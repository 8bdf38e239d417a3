"""The pools of devices a node can use: newest generation only, complete and valid or marked as not.

Source:
https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/structured/internal/incubating/pools_incubating.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from dra_fleet.proof.allocator import counters

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dra_fleet.proof.allocator.counters import Features
    from dra_fleet.proof.allocator.inventory import (
        AllocatableDevice,
        Amount,
        CandidateNode,
        Inventory,
        PoolId,
        Slice,
    )

Counters = dict[str, dict[str, "Amount"]]


class DevicePool(Struct, frozen=True, eq=False):
    """A pool as one node sees it.

    Attributes:
        id: Which one.
        devices: The devices of the slices that concern the node, in the order they are tried.
        devices_elsewhere: The other devices, which may consume the same counters.
        counters: The shared counters by set.
        is_incomplete: Whether slices are missing.
        invalid: Why it cannot be used, else empty.
    """

    id: PoolId
    devices: tuple[AllocatableDevice, ...] = ()
    devices_elsewhere: tuple[AllocatableDevice, ...] = ()
    counters: Counters = field(default_factory=dict[str, dict[str, "Amount"]])
    is_incomplete: bool = False
    invalid: str = ""

    @property
    def is_bound_late(self) -> bool:
        """True if a device must be attached first; such pools are tried last."""
        return any(device.has_binding_conditions for device in self.devices)


def gather(inventory: Inventory, node: CandidateNode, features: Features) -> Sequence[DevicePool]:
    """Return the pools that a node can use, in the order in which they are tried."""
    key = (node.name, frozenset(node.labels.items()), features)
    if key not in inventory.gathered:
        inventory.gathered[key] = _gather(inventory, node, features)
    return inventory.gathered[key]


def _gather(inventory: Inventory, node: CandidateNode, features: Features) -> Sequence[DevicePool]:
    found: dict[PoolId, list[Slice]] = {}
    for candidate in inventory.candidates(node, counters_everywhere=features.counters_everywhere):
        if _is_relevant(candidate, node, features):
            _keep_newest(found, candidate)
    pools = [
        pool
        for name, slices in found.items()
        if (pool := _pool(inventory, name, slices, features)) is not None
    ]
    return sorted(pools, key=lambda pool: (pool.is_bound_late, pool.id))


def _is_relevant(candidate: Slice, node: CandidateNode, features: Features) -> bool:
    spec = candidate.spec
    drops_counters = not features.partitionable_devices and features.ignores_counter_slices
    if (drops_counters and candidate.has_counters) or (features.leaves_groups_out and candidate.has_groups):
        return False
    if candidate.has_counters and features.partitionable_devices and features.counters_everywhere:
        return True
    if spec.get("perDeviceNodeSelection") is not None and not features.partitionable_devices:
        return False
    if spec.get("nodeName") or spec.get("allNodes") or spec.get("nodeSelector") is not None:
        return counters.matches(node, spec)
    if spec.get("perDeviceNodeSelection"):
        return any(counters.matches(node, device.published) for device in candidate.devices)
    return False


def _keep_newest(found: dict[PoolId, list[Slice]], candidate: Slice) -> None:
    known = found.setdefault(candidate.pool, [])
    if known and candidate.generation < known[0].generation:
        return
    if known and candidate.generation > known[0].generation:
        known.clear()
    known.append(candidate)


def _pool(inventory: Inventory, name: PoolId, slices: list[Slice], features: Features) -> DevicePool | None:
    generation, requested = slices[0].generation, slices[0].slices_in_pool
    if features.uses_incomplete_pools:
        return _built(name, slices, [], features, is_incomplete=len(slices) != requested)
    everything = slices
    if len(slices) != requested:
        everything = [found for found in inventory.of_pool[name] if found.generation == generation]
        if any(found.generation > generation for found in inventory.of_pool[name]):
            return None
        if features.leaves_groups_out:
            everything = [found for found in everything if not found.has_groups]
    if len(everything) != requested:
        return DevicePool(name, is_incomplete=True)
    relevant = {found.name for found in slices}
    elsewhere = [found for found in everything if found.name not in relevant]
    return _built(name, slices, elsewhere, features, is_incomplete=False)


def _built(
    name: PoolId, slices: list[Slice], elsewhere: list[Slice], features: Features, *, is_incomplete: bool
) -> DevicePool:
    ordered = sorted(slices, key=lambda found: found.name)
    with_devices = [found for found in ordered if not (features.partitionable_devices and found.has_counters)]
    devices = tuple(device for found in with_devices for device in found.devices)
    counters: Counters = {}
    invalid = _duplicate_device(devices)
    if not invalid and features.partitionable_devices:
        with_counters = ordered if features.counters_everywhere else [*ordered, *elsewhere]
        invalid = _collect_counters(with_counters, counters) or _wrong_consumption(ordered, counters)
        invalid = invalid or _wrong_consumption(elsewhere, counters)
    if invalid:
        return DevicePool(name, is_incomplete=is_incomplete, invalid=invalid)
    others = tuple(device for found in elsewhere for device in found.devices)
    return DevicePool(name, devices, others, counters, is_incomplete)


def _duplicate_device(devices: Iterable[AllocatableDevice]) -> str:
    seen: set[str] = set()
    for device in devices:
        if device.id.device in seen:
            return f"duplicate device name {device.id.device}"
        seen.add(device.id.device)
    return ""


def _collect_counters(slices: Iterable[Slice], counters: Counters) -> str:
    for found in slices:
        names = [entry["name"] for entry in found.spec.get("sharedCounters") or ()]
        duplicate = next((name for name in names if name in counters or names.count(name) > 1), None)
        if duplicate is not None:
            return f"duplicate counter set name {duplicate}"
        counters.update(found.counter_sets)
    return ""


def _wrong_consumption(slices: Iterable[Slice], counters: Counters) -> str:
    for found in slices:
        for device in found.devices:
            for name, consumed in device.consumes:
                if name not in counters:
                    return f"counter set {name} not found"
                unknown = next((counter for counter in consumed if counter not in counters[name]), None)
                if unknown is not None:
                    return f"counter {unknown} not found in counter set {name}"
    return ""
