"""Kinds of node groups that are equal for all pods, so that one is evaluated for all."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.model.nodes import NOTHING, ComputeResources
from dra_fleet.proof.allocator import DeviceId, InUse
from dra_fleet.proof.search.suitability import labels_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.model.nodes import NodeDevice, NodeGroup, NodeShape, Object
    from dra_fleet.proof.allocator import Allocation, Amount
    from dra_fleet.proof.demand.pod_sets import PodSet


class NodeUse(NamedTuple):
    """Devices in use on a node: whole ones and shares."""

    devices: frozenset[DeviceId] = frozenset()
    shares: tuple[tuple[DeviceId, tuple[tuple[str, Amount], ...]], ...] = ()

    @property
    def for_allocator(self) -> InUse:
        return InUse(devices=self.devices, capacity={device: dict(share) for device, share in self.shares})


def kinds_of(groups: Sequence[NodeGroup], pod_sets: Sequence[PodSet] = ()) -> list[int]:
    """Per group the number of the first one that is of its kind.

    Args:
        groups: Groups of nodes; how many nodes each has does not matter.
        pod_sets: The pods. What they do not ask for and cannot run out of makes no difference.
    """
    keys = sorted({key for pod_set in pod_sets for key in pod_set.node_selector})
    dearest = ComputeResources(*map(max, zip(NOTHING, *(one.resources for one in pod_sets), strict=True)))
    hold_devices = all(pod_set.claim.fewest for pod_set in pod_sets)
    first: dict[tuple[object, ...], int] = {}
    return [
        first.setdefault(_kind(group.shape, keys, dearest if hold_devices else None), number)
        for number, group in enumerate(groups)
    ]


def _kind(
    shape: NodeShape, label_keys: Sequence[str], dearest: ComputeResources | None
) -> tuple[object, ...]:
    """Equal for alike nodes; `dearest` is the most that any pod takes, where each pod holds a device."""
    labels = labels_of(shape)
    # If each device is used by one pod, there are no more pods than devices.
    is_ample = (
        dearest is not None
        and shape.is_simple
        and shape.sure_resources.holds(NOTHING.plus(dearest, len(shape.devices)))
    )
    return (
        shape.devices,
        shape.taints,
        None if is_ample else (shape.resources, shape.sure_resources),
        tuple(sorted(shape.unpredictable.items())),
        repr(shape.counters) if shape.counters else "",
        shape.knows_labels,
        shape.known_drivers,
        shape.in_order,
        tuple(labels(key) for key in label_keys),
    )


def after(before: NodeUse, allocation: Allocation) -> NodeUse:
    """Return the devices in use after an allocation."""
    devices = set(before.devices)
    shares = {device: dict(in_use) for device, in_use in before.shares}
    for given in (item for claim in allocation.claims for item in claim):
        if given.admin_access:
            continue
        if not given.consumed:
            devices.add(given.device)
            continue
        in_use = shares.setdefault(given.device, {})
        for name, value in given.consumed.items():
            in_use[name] = in_use.get(name, 0) + value
    frozen = tuple(sorted((device, tuple(sorted(in_use.items()))) for device, in_use in shares.items()))
    return NodeUse(frozenset(devices), frozen)


def blocked(
    devices: Sequence[NodeDevice], counters: Mapping[str, Sequence[Object]], used: Iterable[tuple[str, str]]
) -> frozenset[tuple[str, str]]:
    """Return the devices that are unavailable because the devices in use consume their counters."""
    consuming = [device for device in devices if device.placed.get("consumesCounters")]
    if not consuming:
        return frozenset()
    left = {
        (driver, entry["name"], counter): Quantity.parse(value["value"]).amount
        for driver, sets in counters.items()
        for entry in sets
        for counter, value in entry["counters"].items()
    }
    taken = set(used)
    for device in consuming:
        if device.key in taken:
            for key, value in _consumption(device):
                left[key] = left.get(key, Fraction(0)) - value
    return frozenset(
        device.key
        for device in consuming
        if any(value > left.get(key, 0) for key, value in _consumption(device))
    )


def _consumption(device: NodeDevice) -> list[tuple[tuple[str, str, str], Fraction]]:
    return [
        ((device.driver, entry["counterSet"], counter), Quantity.parse(value["value"]).amount)
        for entry in device.placed.get("consumesCounters", ())
        for counter, value in entry["counters"].items()
    ]
