"""Whether a node can use a slice or a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.kubernetes.scheduling.node_affinity import all_labels, selects

if TYPE_CHECKING:
    from dra_fleet.proof.allocator.inventory import CandidateNode, Object


def matches(node: CandidateNode, selection: Object) -> bool:
    """Whether a node is meant by ``nodeName``, ``allNodes`` or ``nodeSelector``, the first that is set."""
    name = selection.get("nodeName")
    if name:
        return bool(node.name == name)
    if selection.get("allNodes"):
        return True
    return selects(selection.get("nodeSelector"), all_labels(node.labels), node.name) == "yes"
