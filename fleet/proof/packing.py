"""Nodes that fill up: each pod takes the devices that the scheduler's own first fit gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fleet.proof.allocator import Allocation, DeviceId, InUse, Node, NoFit, allocate
from fleet.proof.shapes import NODE, Room

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from fleet.proof.shapes import Shape
    from fleet.proof.units import Unit

EMPTY = Room(0, 0, 0)


class Undecidable(Exception):  # noqa: N818 - an answer on its way up, not an error
    """The allocator has no yes or no: an unknown value, a failure, or too long a search."""


class Filled(NamedTuple):
    """What is in use on a node: whole devices, shares of devices, and room."""

    devices: frozenset[DeviceId] = frozenset()
    shares: tuple[tuple[DeviceId, tuple[tuple[str, Fraction], ...]], ...] = ()
    room: Room = EMPTY

    @property
    def in_use(self) -> InUse:
        """For the allocator."""
        return InUse(devices=self.devices, capacity={device: dict(held) for device, held in self.shares})


class Packing:
    """Answers, and remembers, what becomes of a node when a pod is put on it.

    Args:
        shapes: The sorts of node.
        units: The sorts of pod.
        classes: The cluster's DeviceClasses.
        minor: The scheduler's Kubernetes minor.
        counts_room: Whether CPU, memory and pods are looked at; only where they can run out.
        sure: Whether only the room that is left for certain counts.
    """

    def __init__(
        self,
        shapes: Sequence[Shape],
        units: Sequence[Unit],
        classes: Mapping[str, Any],
        minor: str,
        *,
        counts_room: Sequence[bool],
        sure: bool = True,
    ) -> None:
        self._shapes = shapes
        self._units = units
        self._classes = classes
        self._minor = minor
        self._counts_room = counts_room
        self._sure = sure
        self._ids: dict[tuple[int, Filled], int] = {}
        self.nodes: list[tuple[int, Filled]] = []
        self._next: dict[tuple[int, int], int | None] = {}
        self._given: dict[tuple[int, int], tuple[tuple[str, str, str], ...]] = {}
        self.questions = 0

    def empty(self, shape: int) -> int:
        """The id of an empty node."""
        return self._intern(shape, Filled())

    def place(self, unit: int, node: int) -> int | None:
        """The id of the node after one more pod, None where it does not fit.

        Raises:
            Undecidable: It cannot be told.
        """
        key = (unit, node)
        if key not in self._next:
            self._next[key] = self._place(unit, node)
        return self._next[key]

    def given(self, unit: int, node: int) -> tuple[tuple[str, str, str], ...]:
        """The devices of a pod placed on a node: (request or request/alternative, driver, device)."""
        return self._given[unit, node]

    def most(self, unit: int, shape: int, limit: int) -> int:
        """How many copies of a unit an empty node takes one after the other, at most `limit`.

        Raises:
            Undecidable: It cannot be told.
        """
        node = self.empty(shape)
        for count in range(limit):
            following = self.place(unit, node)
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

    def _place(self, unit: int, node: int) -> int | None:
        number, filled = self.nodes[node]
        shape, pod = self._shapes[number], self._units[unit]
        room = filled.room
        if self._counts_room[number]:
            room = room.plus(pod.room)
            if not (shape.sure_room if self._sure else shape.room).holds(room):
                return None
        self.questions += 1
        outcome = allocate(
            [pod.claim.body],
            self._classes,
            shape.inventory,
            Node(NODE, shape.labels),
            in_use=filled.in_use,
            minor=self._minor,
        )
        if isinstance(outcome, NoFit):
            return None
        if not isinstance(outcome, Allocation):
            raise Undecidable(outcome.message)
        self._given[unit, node] = tuple(
            (item.request, item.device.driver, item.device.device)
            for claim in outcome.claims
            for item in claim
        )
        return self._intern(number, _after(filled, outcome)._replace(room=room))


def _after(filled: Filled, allocation: Allocation) -> Filled:
    devices = set(filled.devices)
    shares = {device: dict(held) for device, held in filled.shares}
    for given in (item for claim in allocation.claims for item in claim):
        if given.admin_access:
            continue
        if not given.consumed:
            devices.add(given.device)
            continue
        held = shares.setdefault(given.device, {})
        for name, value in given.consumed.items():
            held[name] = held.get(name, 0) + value
    frozen = tuple(sorted((device, tuple(sorted(held.items()))) for device, held in shares.items()))
    return Filled(frozenset(devices), frozen)
