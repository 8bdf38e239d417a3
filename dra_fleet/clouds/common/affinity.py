"""On which nodes the pods of drivers may start, as chart values."""

from __future__ import annotations

from typing import Any

from dra_fleet.drivers.nvidia.labels import GPU_PRESENT, MIG_STATE
from dra_fleet.model.labels import POOL


def after_partitioning(pools: list[str]) -> dict[str, Any]:
    """A plugin that starts before the partitions exist would publish whole GPUs."""
    present = node_label(GPU_PRESENT, "true")
    return node_affinity(
        [
            [present, {"key": POOL, "operator": "NotIn", "values": pools}],
            [present, node_label(POOL, *pools), node_label(MIG_STATE, "success")],
        ]
    )


def node_label(key: str, *values: str) -> dict[str, Any]:
    """A node whose label has one of the values."""
    return {"key": key, "operator": "In", "values": list(values)}


def node_affinity(terms: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """A pod's affinity to nodes of which one of the terms holds."""
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": term} for term in terms]
            }
        }
    }
