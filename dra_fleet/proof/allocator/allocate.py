"""Allocate the claims of one pod on one node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.kubernetes.cel import environment
from dra_fleet.proof.allocator import counters
from dra_fleet.proof.allocator.inventory import (
    Allocation,
    CandidateNode,
    InUse,
    Inventory,
    NoFit,
    Outcome,
    Stop,
)
from dra_fleet.proof.allocator.pools import gather
from dra_fleet.proof.allocator.prepare import Preparation
from dra_fleet.proof.allocator.requests import Selection
from dra_fleet.proof.allocator.search import MOST_STEPS, Search, Steps

if TYPE_CHECKING:
    from dra_fleet.kubernetes.cel.program import DeviceCel
    from dra_fleet.proof.allocator.counters import Features
    from dra_fleet.proof.allocator.pools import DevicePool
    from dra_fleet.proof.allocator.search import AnyOrder

Object = Mapping[str, Any]

NOTHING_IN_USE = InUse()


def allocate(
    claims: Sequence[Object],
    classes: Mapping[str, Object],
    slices: Inventory | Iterable[Object],
    node: CandidateNode,
    *,
    in_use: InUse = NOTHING_IN_USE,
    minor: str,
    most_steps: int = MOST_STEPS,
) -> Outcome:
    """Allocate a pod's claims on a node.

    Args:
        claims: The pod's claims that are not allocated yet, in the pod's order: resource.k8s.io/v1 objects.
        classes: The DeviceClasses by name.
        slices: All ResourceSlices of the cluster; an Inventory when several questions are asked of the same.
        node: The node to try; its other filters (taints, CPU, affinity) are not looked at.
        in_use: What earlier pods hold.
        minor: The scheduler's Kubernetes minor, such as "1.36", with its default feature gates. 1.34 and 1.35
            try pools in random order; here they come in the order of 1.36.
        most_steps: Devices tried after which the search is given up.

    Raises:
        ValueError: The minor is not known, or a quantity or version in a slice cannot be read.
    """
    question = _Question(claims, classes, node, in_use, environment(minor), Steps(most_steps))
    return question.answer(question.pools(slices))[0]


def allocate_alike(
    claims: Sequence[Object],
    classes: Mapping[str, Object],
    slices: Inventory | Iterable[Object],
    node: CandidateNode,
    *,
    in_use: InUse = NOTHING_IN_USE,
    minor: str,
    alike: AnyOrder | None,
    steps: Steps,
) -> list[Outcome]:
    """Allocate with interchangeable devices: one search stands for many.

    Args:
        claims: as for ``allocate``, like all that follow but two.
        classes: the DeviceClasses.
        slices: the ResourceSlices.
        node: the node.
        in_use: what earlier pods hold.
        minor: the Kubernetes minor.
        alike: which devices are as good as each other, and which drivers publish theirs in any order; all
            that may then come out is reported, but for one that only requests the first. None for nothing.
        steps: of the search, after which it is given up.

    Raises:
        ValueError: As ``allocate``.
    """
    question = _Question(claims, classes, node, in_use, environment(minor), steps, alike)
    return question.answer(question.pools(slices))


def outcomes(
    claims: Sequence[Object],
    classes: Mapping[str, Object],
    slices: Inventory | Iterable[Object],
    node: CandidateNode,
    *,
    in_use: InUse = NOTHING_IN_USE,
    minor: str,
    most_steps: int = MOST_STEPS,
) -> list[Outcome]:
    """Return one outcome for each order in which the Kubernetes version may try the pools.

    The arguments are the same as for ``allocate``, whose outcome is first. If the order is fixed, it is the
    only one. A search of more than ``most_steps`` steps is given up.

    Raises:
        ValueError: As ``allocate``.
    """
    question = _Question(claims, classes, node, in_use, environment(minor), Steps(most_steps))
    pools = question.pools(slices)
    orders = permutations(pools) if question.features.any_order else [pools]
    return [replace(question, steps=Steps(most_steps)).answer(order)[0] for order in orders]


class _Question(Struct, frozen=True):
    """A pod's question about a node."""

    requested: Sequence[Object]
    classes: Mapping[str, Object]
    node: CandidateNode
    in_use: InUse
    cel: DeviceCel
    steps: Steps
    any_order: AnyOrder | None = None

    @property
    def features(self) -> Features:
        return counters.of_minor(self.cel.number)

    def pools(self, slices: Inventory | Iterable[Object]) -> Sequence[DevicePool]:
        inventory = slices if isinstance(slices, Inventory) else Inventory(slices)
        return gather(inventory, self.node, self.features)

    def answer(self, pools: Sequence[DevicePool]) -> list[Outcome]:
        gates = self.features
        selection = Selection(self.cel, gates, self.node)
        try:
            demands = Preparation(self.classes, pools, selection, gates, self.in_use).claims(self.requested)
            if gates.mixes_alternatives:
                selection = Selection(self.cel, gates, self.node)
            search = Search(demands, pools, selection, gates, self.in_use, any_order=self.any_order)
            found = search.run(self.steps)
        except Stop as stop:
            return [stop.outcome]
        if found:
            return [Allocation(results) for results in found]
        if any(pool.invalid for pool in pools):
            return [NoFit("invalid resource pools were encountered")]
        return [NoFit()]
