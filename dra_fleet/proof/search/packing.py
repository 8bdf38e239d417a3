"""Nodes that fill up: each pod takes the devices that the scheduler's own first fit gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dra_fleet.model.nodes import NOTHING, ComputeResources
from dra_fleet.proof.report import Undecidable
from dra_fleet.proof.search.kinds import Held

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.model.nodes import NodeShape
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.proof.search.placements import Placed, Placements

__all__ = ["Filled", "Packing", "Undecidable"]

MOST_WAYS = 300
"""Ways to have put so many copies on one node that are followed."""


class Filled(NamedTuple):
    """What is in use on a node: devices and compute resources."""

    held: Held = Held()
    resources: ComputeResources = NOTHING


class NodeInUse(NamedTuple):
    """One node by name: the id of its sort, and what is in use of its own devices."""

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
        in any order: Whether devices are given out in every order in which drivers may publish them, not
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
        """The id of an empty node."""
        return self._intern(self._first_alike[shape], Filled())

    def place(self, pod_set: int, node: int) -> int | None:
        """The id of the node after one more pod, None where it does not fit.

        Raises:
            Undecidable: It cannot be told.
        """
        return next(iter(self.choices(pod_set, node)), None)

    def choices(self, pod_set: int, node: int) -> tuple[int, ...]:
        """What the node may be after one more pod; nothing where it does not fit.

        Raises:
            Undecidable: It cannot be told.
        """
        of_set = self._next[pod_set]
        known = of_set.get(node)
        if known is None:
            known = of_set[node] = self._place(pod_set, node)
        return known

    def given(self, pod_set: int, node: int) -> tuple[tuple[str, str, str], ...]:
        """The devices of a pod placed on a node: (request or request/alternative, driver, device)."""
        return self._given[pod_set, node]

    @property
    def is_in_any_order(self) -> bool:
        """Whether the order of some devices is open."""
        return any(likeness is not None for likeness in self._likeness)

    def step(self, pod_set: int, place: NodeInUse, after: int) -> tuple[NodeInUse, tuple[str, ...]]:
        """A node by name after one more pod, as the id of what it then is demands, and the pod's devices."""
        number = self.nodes[place.node][0]
        shape, claim = self._shapes[number], self._units[pod_set].claim
        likeness = self._likeness[number]
        wanted = self.nodes[after][1]
        if likeness is None:
            given = tuple(device for _, _, device in self.given(pod_set, place.node))
            return NodeInUse(place.name, after, wanted), given
        found = self._placements.choices(claim, shape, place.filled.held, likeness).placed
        placed = next(one for one in found if likeness.canonical(one.held) == wanted.held)
        given = tuple(device for _, _, device in placed.given)
        return NodeInUse(place.name, after, Filled(placed.held, wanted.resources)), given

    def room(self, pod_set: int, shape: int, limit: int) -> tuple[int, int] | None:
        """How many copies of a pod set an empty node takes, at least and at most, up to `limit`.

        None where there are too many ways in which it may fill up.

        Raises:
            Undecidable: It cannot be told.
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
            placed = self._placements.place(pod.claim, shape, filled.held)
            found: tuple[Placed, ...] = () if placed is None else (placed,)
        else:
            found, are_all = self._placements.choices(pod.claim, shape, filled.held, likeness)
            self.is_exhaustive = self.is_exhaustive and are_all
        if found:
            self._given[pod_set, node] = found[0].given
        held = [placed.held if likeness is None else likeness.canonical(placed.held) for placed in found]
        return tuple(self._intern(number, Filled(one, resources)) for one in dict.fromkeys(held))

    def _traits(self, number: int) -> tuple[object, ...]:
        """Equal for sorts of node that no pod here can tell apart."""
        shape = self._shapes[number]
        barred = frozenset(pod_set for pod_set, where in self._barred if where == number)
        resources = (shape.resources, shape.sure_resources) if self._counts_resources[number] else None
        return (shape.devices, shape.in_order, resources, barred)
