"""Which groups of nodes mean the same to all pods, so that one of them is asked for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.proof.search.suitability import labels_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dra_fleet.model.nodes import NodeGroup, NodeShape


def kinds_of(groups: Sequence[NodeGroup], label_keys: Iterable[str] = ()) -> list[int]:
    """Per group the number of the first one that is of its kind.

    Args:
        groups: Groups of nodes; how many nodes each has does not matter.
        label_keys: The labels that pods ask for.
    """
    keys = sorted(label_keys)
    first: dict[tuple[object, ...], int] = {}
    return [first.setdefault(_kind(group.shape, keys), number) for number, group in enumerate(groups)]


def _kind(shape: NodeShape, label_keys: Sequence[str]) -> tuple[object, ...]:
    labels = labels_of(shape)
    return (
        shape.devices,
        shape.taints,
        shape.resources,
        shape.sure_resources,
        tuple(sorted(shape.unpredictable.items())),
        repr(shape.counters) if shape.counters else "",
        shape.knows_labels,
        shape.told,
        shape.in_order,
        tuple(labels(key) for key in label_keys),
    )
