"""Nodes that fill up by the scheduler's first fit, and kinds of node groups that are equal for all pods."""

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
    from dra_fleet.proof.search.placements import Placed, Placements


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


MOST_WAYS = 300
"""Ways to have put so many copies on one node that are followed."""


class Filled(NamedTuple):
    """Devices and compute resources in use on a node."""

    in_use: NodeUse = NodeUse()
    resources: ComputeResources = NOTHING


class NodeInUse(NamedTuple):
    """A named node: the id of its state, and its devices in use."""

    name: str
    node: int
    filled: Filled


class Packing:
    """Answers, and remembers, what becomes of a node when a pod is put on it.

    Args:
        shapes: The sorts of node.
        pod sets: The sorts of pod.
        placements: What becomes of their devices.
        counts resources: Whether CPU, memory and pods are looked at; only where they can run out.
        barred: Pairs of a sort of pod and a sort of node where its pods may not go at all.
        sure: Whether only what is left for certain counts.
        in any order: Whether devices are advertised in every order in which drivers may publish them, not
            only in the one in which they stand.

    Raises:
        Undecidable: The steps of the proof are used up.
    """

    def __init__(
        self,
        shapes: Sequence[NodeShape],
        pod_sets: Sequence[PodSet],
        placements: Placements,
        *,
        counts_resources: Sequence[bool],
        barred: frozenset[tuple[int, int]] = frozenset(),
        sure: bool = True,
        in_any_order: bool = False,
    ) -> None:
        self._shapes = shapes
        self._units = pod_sets
        self._placements = placements
        self._counts_resources = counts_resources
        self._barred = barred
        self._sure = sure
        traits = [self._traits(number) for number in range(len(shapes))]
        self._first_alike = list(map(traits.index, traits))
        self._ids: dict[tuple[int, Filled], int] = {}
        self.nodes: list[tuple[int, Filled]] = []
        self._next: list[dict[int, tuple[int, ...]]] = [{} for _ in pod_sets]
        self._given: dict[tuple[int, int], tuple[tuple[str, str, str], ...]] = {}
        claims = [pod_set.claim for pod_set in pod_sets]
        likeness = {
            number: placements.likeness(shapes[number], claims)
            for number in set(self._first_alike)
            if in_any_order and shapes[number].any_order
        }
        self._likeness = [likeness.get(number) for number in self._first_alike]
        self.spend = placements.spend
        self.questions = 0
        self.is_exhaustive = True

    def empty(self, shape: int) -> int:
        """Return the id of an empty node."""
        return self._intern(self._first_alike[shape], Filled())

    def place(self, pod_set: int, node: int) -> int | None:
        """Return the id of the node after one more pod, None if it does not fit.

        Raises:
            Undecidable: It is unknown.
        """
        return next(iter(self.choices(pod_set, node)), None)

    def choices(self, pod_set: int, node: int) -> tuple[int, ...]:
        """Return the possible states of the node after one more pod; empty if it does not fit.

        Raises:
            Undecidable: It is unknown.
        """
        of_set = self._next[pod_set]
        known = of_set.get(node)
        if known is None:
            known = of_set[node] = self._place(pod_set, node)
        return known

    def given(self, pod_set: int, node: int) -> tuple[tuple[str, str, str], ...]:
        """Return the devices of a pod placed on a node: (request or request/alternative, driver, device)."""
        return self._given[pod_set, node]

    @property
    def is_in_any_order(self) -> bool:
        """True if the order of some devices is open."""
        return any(likeness is not None for likeness in self._likeness)

    def step(self, pod_set: int, place: NodeInUse, after: int) -> tuple[NodeInUse, tuple[str, ...]]:
        """Place one more pod on a named node, by the id of the state after it.

        Return the pod's devices, too.
        """
        number = self.nodes[place.node][0]
        shape, claim = self._shapes[number], self._units[pod_set].claim
        likeness = self._likeness[number]
        requested = self.nodes[after][1]
        if likeness is None:
            given = tuple(device for _, _, device in self.given(pod_set, place.node))
            return NodeInUse(place.name, after, requested), given
        found = self._placements.choices(claim, shape, place.filled.in_use, likeness).placed
        placed = next(one for one in found if likeness.canonical(one.in_use) == requested.in_use)
        given = tuple(device for _, _, device in placed.given)
        return NodeInUse(place.name, after, Filled(placed.in_use, requested.resources)), given

    def copies_on_node(self, pod_set: int, shape: int, limit: int) -> tuple[int, int] | None:
        """Return the least and the largest number of copies that an empty node takes, up to `limit`.

        None where there are too many ways in which it may fill up.

        Raises:
            Undecidable: It is unknown.
        """
        nodes, least = {self.empty(shape)}, limit
        for count in range(limit):
            choices = {node: self.choices(pod_set, node) for node in nodes}
            if not all(choices.values()):
                least = min(least, count)
            following = {after for found in choices.values() for after in found}
            if not following:
                return least, count
            if following & nodes:
                return least, limit
            if len(following) > MOST_WAYS or not self.is_exhaustive:
                return None
            nodes = following
        return least, limit

    def _intern(self, shape: int, filled: Filled) -> int:
        key = (shape, filled)
        known = self._ids.get(key)
        if known is None:
            known = self._ids[key] = len(self.nodes)
            self.nodes.append(key)
        return known

    def _place(self, pod_set: int, node: int) -> tuple[int, ...]:
        number, filled = self.nodes[node]
        if (pod_set, number) in self._barred:
            return ()
        shape, pod = self._shapes[number], self._units[pod_set]
        resources = filled.resources
        if self._counts_resources[number]:
            resources = resources.plus(pod.resources)
            if not (shape.sure_resources if self._sure else shape.resources).holds(resources):
                return ()
        self.questions += 1
        likeness = self._likeness[number]
        if likeness is None:
            placed = self._placements.place(pod.claim, shape, filled.in_use)
            found: tuple[Placed, ...] = () if placed is None else (placed,)
        else:
            found, are_all = self._placements.choices(pod.claim, shape, filled.in_use, likeness)
            self.is_exhaustive = self.is_exhaustive and are_all
        if found:
            self._given[pod_set, node] = found[0].given
        in_use = [
            placed.in_use if likeness is None else likeness.canonical(placed.in_use) for placed in found
        ]
        return tuple(self._intern(number, Filled(one, resources)) for one in dict.fromkeys(in_use))

    def _traits(self, number: int) -> tuple[object, ...]:
        """Equal for sorts of node that no pod here can distinguish."""
        shape = self._shapes[number]
        barred = frozenset(pod_set for pod_set, where in self._barred if where == number)
        resources = (shape.resources, shape.sure_resources) if self._counts_resources[number] else None
        return (shape.devices, shape.in_order, resources, barred)
