"""Allocate the claims of one pod on one node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fleet.proof.allocator import features
from fleet.proof.allocator.inventory import InUse, Inventory, Node
from fleet.proof.allocator.outcome import Allocation, NoFit, Outcome, Stop
from fleet.proof.allocator.pools import gather
from fleet.proof.allocator.prepare import Preparation
from fleet.proof.allocator.search import Search
from fleet.proof.allocator.selection import Selection
from fleet.proof.cel import environment

Object = Mapping[str, Any]

NOTHING_IN_USE = InUse()


def allocate(
    claims: Sequence[Object],
    classes: Mapping[str, Object],
    slices: Inventory | Iterable[Object],
    node: Node,
    *,
    in_use: InUse = NOTHING_IN_USE,
    minor: str,
) -> Outcome:
    """Whether, and with which devices, a pod's claims can be allocated on a node.

    Args:
        claims: The pod's claims that are not allocated yet, in the pod's order: resource.k8s.io/v1 objects.
        classes: The DeviceClasses by name.
        slices: All ResourceSlices of the cluster; an Inventory when several questions are asked of the same.
        node: The node to try; its other filters (taints, CPU, affinity) are not looked at.
        in_use: What earlier pods hold.
        minor: The scheduler's Kubernetes minor, such as "1.36", with its default feature gates. 1.34 and 1.35
            try pools in random order; here they come in the order of 1.36.

    Raises:
        ValueError: The minor is not known, or a quantity or version in a slice cannot be read.
    """
    cel = environment(minor)
    gates = features.of_minor(cel.number)
    inventory = slices if isinstance(slices, Inventory) else Inventory(slices)
    pools = gather(inventory, node, gates)
    selection = Selection(cel, gates, node)
    try:
        demands = Preparation(classes, pools, selection, gates, in_use).claims(claims)
        found = Search(demands, pools, selection, gates, in_use).run()
    except Stop as stop:
        return stop.outcome
    if found is not None:
        return Allocation(found)
    if any(pool.invalid for pool in pools):
        return NoFit("invalid resource pools were encountered")
    return NoFit()
