"""Shared counters: what the devices of a pool may consume together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.kubernetes.scheduling.node_affinity import all_labels, selects
from dra_fleet.proof.allocator.inventory import PoolId

if TYPE_CHECKING:
    from dra_fleet.proof.allocator.inventory import AllocatableDevice, CandidateNode, InUse, Object
    from dra_fleet.proof.allocator.pools import Counters, DevicePool


# Default features of the allocator of each minor, and differences of its code.
#
# Tests compare each version with its own library: 0.34.13, 0.35.10, 0.36.3, 0.37.2 and 0.38.0-beta.0 of
# https://github.com/kubernetes/dynamic-resource-allocation. Source of the gates:
# https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/.


class Features(Struct, frozen=True, kw_only=True):
    """The feature gates that change an allocation, and the behaviour of the minor's code.

    Attributes:
        binding_conditions: Devices that must be attached first are usable.
        consumable_capacity: Parts of a device can be requested.
        partitionable_devices: Devices may consume shared counters and name their own nodes.
        device_taints: Taints on devices keep pods away.
        uses_incomplete_pools: Pools whose slices are not all there yet still give devices by count, and only
            the slices for the node are looked at.
        invalid_pool_is_fatal: Meeting an invalid pool ends the whole attempt.
        ignores_counter_slices: Slices with counters are omitted where devices cannot consume any.
        any_order: Pools are tried in random order.
        mixes_alternatives: `All` in an alternative is counted with what is known about the alternative before
            it, and after its first device the search continues with the first alternative.
        limit_by_claim: More devices than a claim can hold are found once a claim is added up.
        distinct_per_request: distinctAttribute remembers the last device of each request only.
        counters_by_pool_name: Pools of one name share their counters, whatever their driver.
        counters_everywhere: Slices with counters concern every node.
        all_skips_full_devices: `All` means the devices that still have the capacity asked for.
        aborts_on_wrong_amounts: A part of a device that is negative, or beyond what the server counts with,
            ends the whole attempt.
        leaves_groups_out: Slices whose devices declare compatibility groups are ignored, and their pools are
            incomplete for it.
        names_device_in_errors: A selector's error says on which device, and what to do about it.
        refuses_capacity_requests: A request for a part of a device ends the whole attempt.
        refuses_derived_attributes: A request with derived attributes ends the whole attempt.
        list_attributes: Constraints compare attributes by the values that they have in common, versions
            without their build metadata, and an attribute without a value ends the whole attempt.
        exact_capacity: A capacity can be requested with and without the driver's name, and its range is
            counted in thousandths where these suffice.
        dedicated_needs_no_shares: A device that is no longer shareable is in use as long as a part of it is.
        all_fails_on_node: `All` with a pool that is invalid or incomplete fails on this node only.
    """

    binding_conditions: bool = False
    consumable_capacity: bool = False
    partitionable_devices: bool = False
    device_taints: bool = False
    uses_incomplete_pools: bool = False
    invalid_pool_is_fatal: bool = False
    ignores_counter_slices: bool = True
    any_order: bool = False
    mixes_alternatives: bool = False
    limit_by_claim: bool = False
    distinct_per_request: bool = True
    counters_by_pool_name: bool = True
    counters_everywhere: bool = True
    all_skips_full_devices: bool = True
    aborts_on_wrong_amounts: bool = False
    leaves_groups_out: bool = False
    names_device_in_errors: bool = False
    refuses_capacity_requests: bool = False
    refuses_derived_attributes: bool = False
    list_attributes: bool = False
    exact_capacity: bool = False
    dedicated_needs_no_shares: bool = False
    all_fails_on_node: bool = False


_V1_35 = Features(any_order=True, mixes_alternatives=True)

_V1_34 = replace(
    _V1_35,
    uses_incomplete_pools=True,
    invalid_pool_is_fatal=True,
    ignores_counter_slices=False,
    refuses_capacity_requests=True,
)

_V1_36 = Features(
    binding_conditions=True,
    consumable_capacity=True,
    partitionable_devices=True,
    device_taints=True,
    limit_by_claim=True,
)

_V1_37 = replace(
    _V1_36,
    limit_by_claim=False,
    distinct_per_request=False,
    counters_by_pool_name=False,
    counters_everywhere=False,
    all_skips_full_devices=False,
    aborts_on_wrong_amounts=True,
    leaves_groups_out=True,
    names_device_in_errors=True,
    refuses_derived_attributes=True,
)

_V1_38 = replace(
    _V1_37,
    list_attributes=True,
    exact_capacity=True,
    dedicated_needs_no_shares=True,
    all_fails_on_node=True,
)

_BY_MINOR = {34: _V1_34, 35: _V1_35, 36: _V1_36, 37: _V1_37, 38: _V1_38}


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
    """Return whether ``nodeName``, ``allNodes`` or ``nodeSelector``, the first one set, selects a node."""
    name = selection.get("nodeName")
    if name:
        return bool(node.name == name)
    if selection.get("allNodes"):
        return True
    return selects(selection.get("nodeSelector"), all_labels(node.labels), node.name) == "yes"


def of_minor(minor: int) -> Features:
    """Return the defaults of Kubernetes 1.``minor``, or of the nearest known version."""
    return _BY_MINOR[min(max(minor, min(_BY_MINOR)), max(_BY_MINOR))]
