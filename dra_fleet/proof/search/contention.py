"""Which pods may be in each other's way: they are judged together, and apart from all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.model.nodes import NOTHING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.proof.search.placements import Placements
    from dra_fleet.proof.search.suitability import Suitability


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """What is asked: which pod sets, on which nodes, what these mean to each, and what becomes of nodes."""

    pod_sets: Sequence[PodSet]
    groups: Sequence[NodeGroup]
    suitability: Mapping[tuple[int, int], Suitability]
    placements: Placements


@dataclass(frozen=True, eq=False, kw_only=True)
class Contention:
    """Pod sets that share nodes, the nodes, and what these mean to each.

    Attributes:
        pod_sets: The pod sets.
        groups: The nodes.
        counts: How many nodes of each group.
        suitability: By pod set and group.
        is_tight: Per group whether CPU, memory or pods may run out before devices do.
    """

    pod_sets: Sequence[PodSet]
    groups: Sequence[NodeGroup]
    counts: Sequence[int]
    suitability: Mapping[tuple[int, int], Suitability]
    is_tight: Sequence[bool]


def contentions(question: Question, counts: Sequence[int]) -> list[tuple[list[int], Contention]]:
    """Pod sets that contend, by their numbers in the question, with so many nodes of each group."""
    return [(members, _between(question, members, counts)) for members in _connected(question, counts)]


def _between(question: Question, members: Sequence[int], counts: Sequence[int]) -> Contention:
    pod_sets = [question.pod_sets[pod_set] for pod_set in members]
    suitability = {
        (number, group): question.suitability[pod_set, group]
        for number, pod_set in enumerate(members)
        for group in range(len(question.groups))
    }
    return Contention(
        pod_sets=pod_sets,
        groups=question.groups,
        counts=counts,
        suitability=suitability,
        is_tight=[_is_tight(pod_sets, suitability, question, group) for group in range(len(question.groups))],
    )


def _is_tight(
    pod_sets: Sequence[PodSet],
    suitability: Mapping[tuple[int, int], Suitability],
    question: Question,
    group: int,
) -> bool:
    """Whether CPU, memory or pods of a node may run out before its devices do."""
    taken = NOTHING
    for number, pod_set in enumerate(pod_sets):
        usable = len(suitability[number, group].maybe)
        fewest = pod_set.claim.fewest
        most = pod_set.copies if not fewest else min(pod_set.copies, usable // fewest)
        taken = taken.plus(pod_set.resources, most)
    return not question.groups[group].shape.sure_resources.holds(taken)


def _connected(question: Question, counts: Sequence[int]) -> list[list[int]]:
    """Pod sets that may be in each other's way, directly or through others."""
    everybody = range(len(question.pod_sets))
    tight = [
        _is_tight(question.pod_sets, question.suitability, question, group) for group in range(len(counts))
    ]
    clusters: list[list[int]] = []
    for pod_set in everybody:
        touching = [
            known
            for known in clusters
            if any(_meet(question, (pod_set, other), counts, tight) for other in known)
        ]
        clusters = [known for known in clusters if known not in touching]
        clusters.append(sorted([pod_set, *(member for known in touching for member in known)]))
    return clusters


def _meet(question: Question, pair: tuple[int, int], counts: Sequence[int], tight: Sequence[bool]) -> bool:
    """Whether two pod sets may want the same device, or CPU or memory of a node that may run out of it."""
    for group, nodes in enumerate(counts):
        one, other = (_reach(question.suitability[number, group], question.groups[group]) for number in pair)
        if nodes and ((tight[group] and one and other) or one & other):
            return True
    return False


def _reach(found: Suitability, group: NodeGroup) -> frozenset[tuple[str, str]]:
    """The devices that a pod set may want, and the counters from which these are taken."""
    if not group.shape.counters:
        return found.maybe
    return found.maybe | {
        (device.driver, entry["counterSet"])
        for device in group.shape.devices
        if device.key in found.maybe
        for entry in device.placed.get("consumesCounters", ())
    }
