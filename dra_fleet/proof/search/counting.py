"""When counting alone tells: how many devices would have to be in use before a pod finds none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.proof.demand.pods import values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup, Shape
    from dra_fleet.proof.demand.asks import Ask
    from dra_fleet.proof.demand.pods import Unit, View

Keys = frozenset[tuple[str, str]]
MOST_NAMES = 12
"""Workloads that a reason names; each of thousands would name all others."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Crowd:
    """Units that share nodes, the nodes, and what these mean to each unit.

    Attributes:
        units: The units.
        groups: The nodes.
        counts: How many nodes of each group.
        views: By unit and group.
        is_tight: Per group whether CPU, memory or pods may run out before devices do.
    """

    units: Sequence[Unit]
    groups: Sequence[NodeGroup]
    counts: Sequence[int]
    views: Mapping[tuple[int, int], View]
    is_tight: Sequence[bool]


def enough(crowd: Crowd, unit: int) -> str:
    """Why a unit's pods all find devices in whatever order pods come; empty if counting does not tell.

    A pod waits only if on every node too few of its devices are free, whoever took which others.
    """
    ask = _single(crowd.units[unit])
    if ask is None or not _is_countable(crowd):
        return ""
    attribute = _attribute(crowd.units[unit])
    bins = [
        nodes * _bins(crowd.groups[group].shape, crowd.views[unit, group].certain, ask, attribute)
        if not crowd.is_tight[group] and not crowd.views[unit, group].doubt
        else []
        for group, nodes in enumerate(crowd.counts)
    ]
    sizes = [size for of_group in bins for size in of_group if size >= ask.count]
    if not sizes:
        return ""
    to_block = sum(size - ask.count + 1 for size in sizes)
    others = crowd.units[unit].copies * ask.count - ask.count + _used_by_others(crowd, unit)
    if others < to_block:
        return (
            f"{to_block} of its devices would have to be in use before a pod waits, and all other pods "
            f"together hold at most {others}"
        )
    slots = sum(size // ask.count for size in sizes)
    rivals = _rivals(crowd, unit)
    pods = sum(crowd.units[rival].copies for rival in rivals)
    if pods <= slots and all(_keeps_to_slots(crowd, unit, rival, attribute) for rival in rivals):
        alike = f"the pods that can hold these devices take {ask.count} each, alike"
        return f"{alike}, and there is room for {slots}"
    return ""


def too_many(crowd: Crowd) -> str:
    """Why not all pods can ever be placed together; empty if counting does not tell."""
    if not _is_countable(crowd) or any(found.has_more for found in crowd.views.values()):
        return ""
    for unit, item in enumerate(crowd.units):
        there = _devices(crowd, [unit])
        if item.copies * item.claim.fewest > there:
            wanted = f"{item.copies} x {item.claim.fewest} devices"
            return f"{item.name}: {wanted} are asked for and {there} can match"
    units = range(len(crowd.units))
    wanted = sum(item.copies * item.claim.fewest for item in crowd.units)
    there = _devices(crowd, units)
    if wanted > there:
        names = [item.name for item in crowd.units]
        rest = len(names) - MOST_NAMES
        told = ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
        return f"{told} together ask for {wanted} devices and {there} can match"
    return ""


def most_held(unit: Unit, devices: int) -> int:
    """Devices that one copy holds at most, on a node that has so many for it."""
    asked = sum(
        max((ask.count if ask.is_plain else devices for ask in choices), default=0)
        for choices in unit.claim.requests
    )
    return min(asked, devices)


def _is_countable(crowd: Crowd) -> bool:
    return all(group.shape.is_simple for group in crowd.groups)


def _devices(crowd: Crowd, units: Iterable[int]) -> int:
    chosen = list(units)
    return sum(
        nodes * len(frozenset[tuple[str, str]]().union(*(crowd.views[unit, group].maybe for unit in chosen)))
        for group, nodes in enumerate(crowd.counts)
    )


def _single(unit: Unit) -> Ask | None:
    """The one plain request of a claim with at most one matchAttribute; None for anything else."""
    requests = unit.claim.requests
    constraints = unit.claim.constraints
    if len(requests) != 1 or len(requests[0]) != 1 or not requests[0][0].is_plain:
        return None
    if len(constraints) > 1 or any("matchAttribute" not in item for item in constraints):
        return None
    return requests[0][0]


def _attribute(unit: Unit) -> str:
    return next((item["matchAttribute"] for item in unit.claim.constraints), "")


def _bins(shape: Shape, certain: Keys, ask: Ask, attribute: str) -> list[int]:
    """How many of a node's devices a claim can choose from together: all, or those of equal attribute."""
    if not attribute or ask.count == 1:
        # One device is equal to itself, but it must have the attribute.
        known = values_of(shape, attribute) if attribute else dict.fromkeys(certain)
        return [len(certain & set(known))]
    values = values_of(shape, attribute)
    return sorted(Counter(repr(values[key]) for key in certain if key in values).values())


def _rivals(crowd: Crowd, unit: int) -> list[int]:
    """The units that may hold a device which this one can use, itself included."""
    return [
        other
        for other in range(len(crowd.units))
        if any(
            crowd.views[other, group].maybe & crowd.views[unit, group].certain
            for group in range(len(crowd.groups))
        )
    ]


def _used_by_others(crowd: Crowd, unit: int) -> int:
    total = 0
    for rival in _rivals(crowd, unit):
        if rival == unit:
            continue
        shared = [
            len(crowd.views[rival, group].maybe & crowd.views[unit, group].certain)
            for group in range(len(crowd.groups))
        ]
        each = most_held(crowd.units[rival], max(shared))
        everywhere = sum(nodes * count for nodes, count in zip(crowd.counts, shared, strict=True))
        total += min(crowd.units[rival].copies * each, everywhere)
    return total


def _keeps_to_slots(crowd: Crowd, unit: int, rival: int, attribute: str) -> bool:
    """Whether a rival's pod spoils at most one place for this unit's pods."""
    ask, own = _single(crowd.units[rival]), _single(crowd.units[unit])
    if ask is None or own is None or ask.count > own.count:
        return False
    return ask.count == 1 or not attribute or _attribute(crowd.units[rival]) == attribute
