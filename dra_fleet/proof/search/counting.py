"""When counting alone reports: how many devices would have to be in use before a pod finds none."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dra_fleet.proof.search.suitability import values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.model.nodes import NodeShape
    from dra_fleet.proof.demand.asks import Ask
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.proof.search.contention import Contention

Keys = frozenset[tuple[str, str]]
MOST_NAMES = 12
"""Workloads that a reason names; each of thousands would name all others."""


def enough(contention: Contention, pod_set: int) -> str:
    """Return why all pods of a set find devices in every order; empty if counting cannot decide.

    A pod waits only if on every node too few of its devices are free, whichever others are in use.
    """
    ask = _single(contention.pod_sets[pod_set])
    if ask is None or not contention.is_countable:
        return ""
    attribute = _attribute(contention.pod_sets[pod_set])
    sizes = [
        (size, nodes)
        for kind, nodes in contention.nodes.items()
        if nodes and not contention.is_tight[kind] and not contention.suitability[pod_set, kind].doubt
        for size in _bins(
            contention.groups[kind].shape, contention.suitability[pod_set, kind].certain, ask, attribute
        )
        if size >= ask.count
    ]
    if not sizes:
        return ""
    to_block = sum(nodes * (size - ask.count + 1) for size, nodes in sizes)
    shared = _shared(contention, pod_set)
    own = contention.pod_sets[pod_set].copies * ask.count - ask.count
    others = own + _used_by_others(contention, pod_set, shared)
    if others < to_block:
        return (
            f"{to_block} of its devices would have to be in use before a pod waits, and all other pods "
            f"together use at most {others}"
        )
    slots = sum(nodes * (size // ask.count) for size, nodes in sizes)
    rivals = (rival for like in shared for rival in contention.alike[like])
    pods = sum(contention.copies_alike[like] for like in shared)
    if pods <= slots and all(_keeps_to_slots(contention, pod_set, rival, attribute) for rival in rivals):
        alike = f"all pods that can use these devices request {ask.count} each"
        return f"{alike}, and the nodes can run {slots}"
    return ""


def too_many(contention: Contention, pod_set: int) -> str:
    """Return why not all pods of a pod set can ever be placed; empty if counting cannot decide."""
    if not contention.can_run_out:
        return ""
    item = contention.pod_sets[pod_set]
    there = _devices(contention, [pod_set])
    if item.needed * item.claim.fewest <= there:
        return ""
    return f"{item.name}: {item.needed} x {item.claim.fewest} devices are requested, and {there} can match"


def too_many_together(contention: Contention) -> str:
    """Return why not all pods can ever be placed together; empty if counting cannot decide."""
    if not contention.can_run_out:
        return ""
    pod_sets = range(len(contention.pod_sets))
    requested = sum(item.needed * item.claim.fewest for item in contention.pod_sets)
    there = _devices(contention, pod_sets)
    if requested > there:
        names = [item.name for item in contention.pod_sets]
        rest = len(names) - MOST_NAMES
        known_drivers = ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
        return f"{known_drivers} together request {requested} devices, and {there} can match"
    return ""


def is_free_of_order(pod_set: PodSet, shape: NodeShape) -> bool:
    """Return whether the number of copies on an otherwise empty node depends on no order of devices."""
    requests = pod_set.claim.requests
    if _single(pod_set) is not None and shape.is_simple:
        return True
    return (
        len(requests) == 1
        and [ask.count for ask in requests[0]] == [1]
        and not pod_set.claim.constraints
        and not shape.counters
    )


def most_in_use(pod_set: PodSet, devices: int) -> int:
    """Devices that one copy holds at most, on a node that has so many for it."""
    asked = sum(
        max((ask.count if ask.is_plain else devices for ask in choices), default=0)
        for choices in pod_set.claim.requests
    )
    return min(asked, devices)


def _devices(contention: Contention, pod_sets: Iterable[int]) -> int:
    chosen = list(pod_sets)
    return sum(
        nodes
        * len(
            frozenset[tuple[str, str]]().union(
                *(contention.suitability[pod_set, kind].maybe for pod_set in chosen)
            )
        )
        for kind, nodes in contention.nodes.items()
    )


def _single(pod_set: PodSet) -> Ask | None:
    """Return the one plain request of a claim with at most one matchAttribute; None for others."""
    requests = pod_set.claim.requests
    constraints = pod_set.claim.constraints
    if len(requests) != 1 or len(requests[0]) != 1 or not requests[0][0].is_plain:
        return None
    if len(constraints) > 1 or any("matchAttribute" not in item for item in constraints):
        return None
    return requests[0][0]


def _attribute(pod_set: PodSet) -> str:
    return next((item["matchAttribute"] for item in pod_set.claim.constraints), "")


def _bins(shape: NodeShape, certain: Keys, ask: Ask, attribute: str) -> list[int]:
    """Return the sizes of the device groups that a claim can use: all, or those of equal attribute."""
    if not attribute or ask.count == 1:
        # One device is equal to itself, but it must have the attribute.
        return [len(certain & values_of(shape, attribute).keys()) if attribute else len(certain)]
    values = values_of(shape, attribute)
    if any(isinstance(value, list) for value in values.values()):
        return []  # devices that share one value of several are in no fixed groups
    return sorted(Counter(repr(values[key]) for key in certain if key in values).values())


def _shared(contention: Contention, pod_set: int) -> dict[int, list[int]]:
    """Return the pod sets that may use a pod set's devices, itself included, per kind of node.

    Of pod sets that may want the same devices only the first is named.
    """
    own = {kind: contention.suitability[pod_set, kind].certain for kind in contention.nodes}
    found = {
        other: [len(contention.suitability[other, kind].maybe & certain) for kind, certain in own.items()]
        for other in contention.alike
    }
    return {other: shared for other, shared in found.items() if any(shared)}


def _used_by_others(contention: Contention, pod_set: int, shared: Mapping[int, Sequence[int]]) -> int:
    everywhere = {
        other: sum(nodes * count for nodes, count in zip(contention.nodes.values(), counts, strict=True))
        for other, counts in shared.items()
    }
    total = 0
    for members in contention.of_one_demand:
        one = next(iter(members))
        like = contention.first_alike[one]
        if like in shared:
            each = most_in_use(contention.pod_sets[one], max(shared[like]))
            rivals = len(members) - (pod_set in members)
            total += rivals * min(contention.pod_sets[one].copies * each, everywhere[like])
    return total


def _keeps_to_slots(contention: Contention, pod_set: int, rival: int, attribute: str) -> bool:
    """Return whether a rival's pod takes at most one place of this pod set's pods."""
    ask, own = _single(contention.pod_sets[rival]), _single(contention.pod_sets[pod_set])
    if ask is None or own is None or ask.count > own.count:
        return False
    return ask.count == 1 or not attribute or _attribute(contention.pod_sets[rival]) == attribute
