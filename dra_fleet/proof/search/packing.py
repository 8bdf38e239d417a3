"""Nodes that fill up: each pod takes the devices that the scheduler's own first fit gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dra_fleet.model.nodes import NOTHING, ComputeResources
from dra_fleet.proof.search.placements import Held, Placements, Undecidable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.model.nodes import NodeShape
    from dra_fleet.proof.demand.pod_sets import PodSet

__all__ = ["Filled", "Packing", "Undecidable"]


class Filled(NamedTuple):
    """What is in use on a node: devices and compute resources."""

    held: Held = Held()
    resources: ComputeResources = NOTHING


class Packing:
    """Answers, and remembers, what becomes of a node when a pod is put on it.

    Args:
        shapes: The sorts of node.
        pod sets: The sorts of pod.
        placements: What becomes of their devices.
        counts resources: Whether CPU, memory and pods are looked at; only where they can run out.
        barred: Pairs of a sort of pod and a sort of node where its pods may not go at all.
        sure: Whether only what is left for certain counts.
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
    ) -> None:
        self._shapes = shapes
        self._units = pod_sets
        self._placements = placements
        self._counts_resources = counts_resources
        self._barred = barred
        self._sure = sure
        traits = [self._traits(number) for number in range(len(shapes))]
        self._first_alike = [traits.index(found) for found in traits]
        self._ids: dict[tuple[int, Filled], int] = {}
        self.nodes: list[tuple[int, Filled]] = []
        self._next: dict[tuple[int, int], int | None] = {}
        self._given: dict[tuple[int, int], tuple[tuple[str, str, str], ...]] = {}
        self.questions = 0

    def empty(self, shape: int) -> int:
        """The id of an empty node."""
        return self._intern(self._first_alike[shape], Filled())

    def place(self, pod_set: int, node: int) -> int | None:
        """The id of the node after one more pod, None where it does not fit.

        Raises:
            Undecidable: It cannot be told.
        """
        key = (pod_set, node)
        if key not in self._next:
            self._next[key] = self._place(pod_set, node)
        return self._next[key]

    def given(self, pod_set: int, node: int) -> tuple[tuple[str, str, str], ...]:
        """The devices of a pod placed on a node: (request or request/alternative, driver, device)."""
        return self._given[pod_set, node]

    def most(self, pod_set: int, shape: int, limit: int) -> int:
        """How many copies of a pod set an empty node takes one after the other, at most `limit`.

        Raises:
            Undecidable: It cannot be told.
        """
        node = self.empty(shape)
        for count in range(limit):
            following = self.place(pod_set, node)
            if following is None:
                return count
            if following == node:
                return limit
            node = following
        return limit

    def _intern(self, shape: int, filled: Filled) -> int:
        key = (shape, filled)
        known = self._ids.get(key)
        if known is None:
            known = self._ids[key] = len(self.nodes)
            self.nodes.append(key)
        return known

    def _place(self, pod_set: int, node: int) -> int | None:
        number, filled = self.nodes[node]
        if (pod_set, number) in self._barred:
            return None
        shape, pod = self._shapes[number], self._units[pod_set]
        resources = filled.resources
        if self._counts_resources[number]:
            resources = resources.plus(pod.resources)
            if not (shape.sure_resources if self._sure else shape.resources).holds(resources):
                return None
        self.questions += 1
        placed = self._placements.place(pod.claim, shape, filled.held)
        if placed is None:
            return None
        self._given[pod_set, node] = placed.given
        return self._intern(number, Filled(placed.held, resources))

    def _traits(self, number: int) -> tuple[object, ...]:
        """Equal for sorts of node that no pod here can tell apart."""
        shape = self._shapes[number]
        barred = frozenset(pod_set for pod_set, where in self._barred if where == number)
        return (shape.devices, shape.resources, shape.sure_resources, self._counts_resources[number], barred)
