"""What becomes of a node's devices when one more claim is placed; asked once for all that are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dra_fleet.model.nodes import NODE
from dra_fleet.proof.allocator import (
    Allocation,
    DeviceId,
    InUse,
    Node,
    NoFit,
    Outcome,
    TimedOut,
    allocate,
    allocate_in_any_order,
)
from dra_fleet.proof.supply.node_slices import inventory_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from dra_fleet.model.nodes import NodeDevice, NodeShape
    from dra_fleet.proof.demand.asks import ClaimAsk
    from dra_fleet.proof.search.likeness import Likeness

MOST_STEPS = 20_000
"""Steps of the search for all that a claim may get, before one order of the devices stands for the others."""


class Undecidable(Exception):  # noqa: N818 - an answer on its way up, not an error
    """The allocator has no yes or no: an unknown value, a failure, or too long a search."""


class Held(NamedTuple):
    """What is in use of a node's devices: whole ones and shares."""

    devices: frozenset[DeviceId] = frozenset()
    shares: tuple[tuple[DeviceId, tuple[tuple[str, Fraction], ...]], ...] = ()

    @property
    def in_use(self) -> InUse:
        """For the allocator."""
        return InUse(devices=self.devices, capacity={device: dict(held) for device, held in self.shares})


class Placed(NamedTuple):
    """What a claim gets, as (request or request/alternative, driver, device), and what is then in use."""

    given: tuple[tuple[str, str, str], ...]
    held: Held


class Choices(NamedTuple):
    """What a claim may get, depending on the order in which drivers publish their devices.

    Attributes:
        placed: One of each sort; none where it does not fit.
        are_all: Whether there are no others.
    """

    placed: tuple[Placed, ...]
    are_all: bool


class Placements:
    """Answers for one cluster, and remembers, what the allocator gives a claim on a node.

    Claims are alike by their likeness, nodes by their devices: no slice of theirs selects nodes by labels.

    Args:
        classes: The cluster's DeviceClasses.
        minor: The scheduler's Kubernetes minor.
    """

    def __init__(self, classes: Mapping[str, Any], minor: str) -> None:
        self.minor = minor
        self._classes = classes
        self._known: dict[tuple[str, tuple[NodeDevice, ...], Held], Placed | None] = {}
        self._choices: dict[tuple[str, Likeness, Held], Choices] = {}

    def place(self, claim: ClaimAsk, shape: NodeShape, held: Held) -> Placed | None:
        """What a claim gets where some devices are in use, as they stand; None where it does not fit.

        Raises:
            Undecidable: It cannot be told.
        """
        if any(ask.class_name not in self._classes for ask in claim.asks):
            return self._ask(claim, shape, held)
        key = (claim.likeness, shape.devices, held)
        if key not in self._known:
            self._known[key] = self._ask(claim, shape, held)
        return self._known[key]

    def choices(self, claim: ClaimAsk, shape: NodeShape, held: Held, likeness: Likeness) -> Choices:
        """What a claim may get on a node where some devices are in use, in any order that they may come in.

        Raises:
            Undecidable: It cannot be told.
        """
        key = (claim.likeness, likeness, held)
        if key not in self._choices:
            self._choices[key] = self._ask_for_all(claim, shape, held, likeness)
        return self._choices[key]

    def _ask_for_all(self, claim: ClaimAsk, shape: NodeShape, held: Held, likeness: Likeness) -> Choices:
        outcomes = allocate_in_any_order(
            [claim.body],
            self._classes,
            inventory_of(shape),
            Node(NODE, shape.labels),
            in_use=held.in_use,
            minor=self.minor,
            any_order=likeness.after(held),
            most_steps=MOST_STEPS,
        )
        if isinstance(outcomes[0], TimedOut):
            one = self.place(claim, shape, held)
            return Choices(() if one is None else (one,), are_all=one is None)
        found = [placed for outcome in outcomes if (placed := _placed(outcome, held)) is not None]
        return Choices(tuple(found), are_all=True)

    def _ask(self, claim: ClaimAsk, shape: NodeShape, held: Held) -> Placed | None:
        outcome = allocate(
            [claim.body],
            self._classes,
            inventory_of(shape),
            Node(NODE, shape.labels),
            in_use=held.in_use,
            minor=self.minor,
        )
        return _placed(outcome, held)


def _placed(outcome: Outcome, held: Held) -> Placed | None:
    if isinstance(outcome, NoFit):
        return None
    if not isinstance(outcome, Allocation):
        raise Undecidable(outcome.message)
    given = tuple(
        (item.request, item.device.driver, item.device.device) for one in outcome.claims for item in one
    )
    return Placed(given, after(held, outcome))


def after(before: Held, allocation: Allocation) -> Held:
    """What is in use once an allocation is made."""
    devices = set(before.devices)
    shares = {device: dict(held) for device, held in before.shares}
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
    return Held(frozenset(devices), frozen)
