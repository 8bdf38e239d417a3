"""Groups of pods that may compete for devices: each group is checked apart from the others."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.model.nodes import NOTHING, ComputeResources
from dra_fleet.proof.search.suitability import suitability_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup, NodeShape
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.proof.search.placements import Placements
    from dra_fleet.proof.search.suitability import Suitability


class Question(Struct, frozen=True, kw_only=True, eq=False):
    """Question of a proof: pod sets, nodes, the fit of the two, and growth.

    `kinds`: per group the first one that means the same to all pod sets.
    """

    pod_sets: Sequence[PodSet]
    groups: Sequence[NodeGroup]
    kinds: Sequence[int]
    suitability: Mapping[tuple[int, int], Suitability]
    placements: Placements

    def changed(self, pod_sets: Mapping[int, PodSet]) -> Question:
        """Return the question with these pod sets in the place of others, by their numbers."""
        suitability = dict(self.suitability)
        for number, pod_set in pod_sets.items():
            suitability |= suitability_by_group(number, pod_set, self.groups, self.kinds, self.placements)
        after = [pod_sets.get(number, pod_set) for number, pod_set in enumerate(self.pod_sets)]
        return replace(self, pod_sets=after, suitability=suitability)


def suitability_by_group(
    number: int, pod_set: PodSet, groups: Sequence[NodeGroup], kinds: Sequence[int], placements: Placements
) -> dict[tuple[int, int], Suitability]:
    """Return by pod set and group what the nodes mean to a pod set; each kind of nodes is evaluated once."""
    of_kind = {kind: suitability_of(pod_set, groups[kind], placements.suitability) for kind in set(kinds)}
    return {(number, group): of_kind[kind] for group, kind in enumerate(kinds)}


class Contention(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """Pod sets that share nodes, the nodes, and what these mean to each.

    Attributes:
        pod_sets: The pod sets.
        groups: The nodes.
        counts: How many nodes of each group.
        kinds: Per group the first one that means the same to all pod sets.
        suitability: By pod set and group.
        is_tight: Per group whether CPU, memory or pods may run out before devices do.
    """

    pod_sets: Sequence[PodSet]
    groups: Sequence[NodeGroup]
    counts: Sequence[int]
    kinds: Sequence[int]
    suitability: Mapping[tuple[int, int], Suitability]
    is_tight: Sequence[bool]

    @cached_property
    def nodes(self) -> Mapping[int, int]:
        """Number of nodes of each kind, by its first group."""
        found = dict.fromkeys(self.kinds, 0)
        for kind, nodes in zip(self.kinds, self.counts, strict=True):
            found[kind] += nodes
        return found

    @cached_property
    def first_there(self) -> Sequence[tuple[int, NodeGroup]]:
        """The first group of each kind that has nodes."""
        found: dict[int, int] = {}
        for number, (kind, nodes) in enumerate(zip(self.kinds, self.counts, strict=True)):
            if nodes:
                found.setdefault(kind, number)
        return [(number, self.groups[number]) for number in found.values()]

    @cached_property
    def is_countable(self) -> bool:
        """True if a device is used by one pod or by none, and consumes nothing of others."""
        return all(group.shape.is_simple for group in self.groups)

    @cached_property
    def can_run_out(self) -> bool:
        """True if there are no devices beyond those that may match."""
        return self.is_countable and not any(found.has_more for found in self.suitability.values())

    @cached_property
    def first_alike(self) -> Sequence[int]:
        """Per pod set the first one that may want the same devices of every group."""
        requested = [
            tuple(self.suitability[pod_set, kind].maybe for kind in self.nodes)
            for pod_set in range(len(self.pod_sets))
        ]
        first: dict[tuple[frozenset[tuple[str, str]], ...], int] = {}
        return [first.setdefault(devices, pod_set) for pod_set, devices in enumerate(requested)]

    @cached_property
    def alike(self) -> Mapping[int, Sequence[int]]:
        """Pod sets that may request the same devices, by the first of them."""
        found: dict[int, list[int]] = {}
        for number, like in enumerate(self.first_alike):
            found.setdefault(like, []).append(number)
        return found

    @cached_property
    def copies_alike(self) -> Mapping[int, int]:
        """Number of those pods."""
        return {
            like: sum(self.pod_sets[one].copies for one in members) for like, members in self.alike.items()
        }

    @cached_property
    def of_one_demand(self) -> Sequence[frozenset[int]]:
        """Pod sets together that may want the same devices, as many of them and as often."""
        together: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
        for number, (pod_set, like) in enumerate(zip(self.pod_sets, self.first_alike, strict=True)):
            asked = tuple(
                tuple((ask.count, ask.is_plain) for ask in choices) for choices in pod_set.claim.requests
            )
            together[like, pod_set.copies, asked].append(number)
        return [frozenset(members) for members in together.values()]


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
    tight = {kind: _is_tight(pod_sets, suitability, question, kind) for kind in set(question.kinds)}
    return Contention(
        pod_sets=pod_sets,
        groups=question.groups,
        counts=counts,
        kinds=question.kinds,
        suitability=suitability,
        is_tight=[tight[kind] for kind in question.kinds],
    )


def _is_tight(
    pod_sets: Sequence[PodSet],
    suitability: Mapping[tuple[int, int], Suitability],
    question: Question,
    group: int,
) -> bool:
    shape = question.groups[group].shape
    usable = [suitability[number, group].maybe for number in range(len(pod_sets))]
    taken = NOTHING
    for pod_set, devices in zip(pod_sets, usable, strict=True):
        taken = taken.plus(pod_set.resources, _most(pod_set, devices, shape))
    if shape.sure_resources.holds(taken):
        return False
    if shape.shares_devices or not all(pod_set.claim.fewest for pod_set in pod_sets):
        return True
    # Each device is used by one pod, so that all together are no more than there are devices.
    there = len(frozenset[tuple[str, str]]().union(*usable))
    here = [pod_set for pod_set, devices in zip(pod_sets, usable, strict=True) if devices]
    dearest = (
        max((-(-there * pod_set.resources[part] // pod_set.claim.fewest) for pod_set in here), default=0)
        for part in range(len(NOTHING))
    )
    return not shape.sure_resources.holds(ComputeResources(*dearest))


def _most(pod_set: PodSet, usable: frozenset[tuple[str, str]], shape: NodeShape) -> int:
    """Return the largest number of copies of a pod set that its devices of a node allow."""
    fewest = pod_set.claim.fewest
    if not fewest or (usable and shape.shares_devices):
        return pod_set.copies
    return min(pod_set.copies, len(usable) // fewest)


def _connected(question: Question, counts: Sequence[int]) -> list[list[int]]:
    """Pod sets that may be in each other's way, directly or through others.

    Two are if they may want the same device, or CPU or memory of a node that may run out of it.
    """
    everybody = range(len(question.pod_sets))
    first = list(everybody)
    """An earlier connected pod set of each pod set; the first is its own."""
    there = {kind for kind, nodes in zip(question.kinds, counts, strict=True) if nodes}
    for group in sorted(there):
        tight = _is_tight(question.pod_sets, question.suitability, question, group)
        requested: dict[object, int] = {}
        for pod_set in everybody:
            reach = _reach(question.suitability[pod_set, group], question.groups[group])
            if not reach:
                continue
            alike = requested.setdefault(reach, pod_set)
            _connect(first, alike, pod_set)
            # Who wants the same as one before is connected with the same through that one.
            for one in () if alike != pod_set else ["any"] if tight else reach:
                _connect(first, requested.setdefault(one, pod_set), pod_set)
    clusters: dict[int, list[int]] = {}
    for pod_set in everybody:
        clusters.setdefault(_first(first, pod_set), []).append(pod_set)
    return sorted(clusters.values(), key=lambda members: members[-1])


def _connect(first: list[int], one: int, other: int) -> None:
    one, other = sorted((_first(first, one), _first(first, other)))
    first[other] = one


def _first(first: list[int], pod_set: int) -> int:
    """Return the first pod set of the connected group."""
    while first[pod_set] != pod_set:
        first[pod_set] = first[first[pod_set]]
        pod_set = first[pod_set]
    return pod_set


def _reach(found: Suitability, group: NodeGroup) -> frozenset[tuple[str, str]]:
    """Return the devices that a pod set may use, and the counters that these consume."""
    if not group.shape.counters:
        return found.maybe
    return found.maybe | {
        (device.driver, entry["counterSet"])
        for device in group.shape.devices
        if device.key in found.maybe
        for entry in device.placed.get("consumesCounters", ())
    }
