"""Which groups of nodes mean the same to all pods, so that one of them is asked for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.model.nodes import NOTHING, ComputeResources
from dra_fleet.proof.search.suitability import labels_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.model.nodes import NodeGroup, NodeShape
    from dra_fleet.proof.demand.pod_sets import PodSet


def kinds_of(groups: Sequence[NodeGroup], pod_sets: Sequence[PodSet] = ()) -> list[int]:
    """Per group the number of the first one that is of its kind.

    Args:
        groups: Groups of nodes; how many nodes each has does not matter.
        pod_sets: The pods. What they do not ask for and cannot run out of makes no difference.
    """
    keys = sorted({key for pod_set in pod_sets for key in pod_set.node_selector})
    dearest = ComputeResources(*map(max, zip(NOTHING, *(one.resources for one in pod_sets), strict=True)))
    hold_devices = all(pod_set.claim.fewest for pod_set in pod_sets)
    first: dict[tuple[object, ...], int] = {}
    return [
        first.setdefault(_kind(group.shape, keys, dearest if hold_devices else None), number)
        for number, group in enumerate(groups)
    ]


def _kind(
    shape: NodeShape, label_keys: Sequence[str], dearest: ComputeResources | None
) -> tuple[object, ...]:
    """Equal for alike nodes; `dearest` is the most that any pod takes, where each pod holds a device."""
    labels = labels_of(shape)
    # Where each device is held by one pod, there are no more pods than devices.
    is_ample = (
        dearest is not None
        and shape.is_simple
        and shape.sure_resources.holds(NOTHING.plus(dearest, len(shape.devices)))
    )
    return (
        shape.devices,
        shape.taints,
        None if is_ample else (shape.resources, shape.sure_resources),
        tuple(sorted(shape.unpredictable.items())),
        repr(shape.counters) if shape.counters else "",
        shape.knows_labels,
        shape.told,
        shape.in_order,
        tuple(labels(key) for key in label_keys),
    )
