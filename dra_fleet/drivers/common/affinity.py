"""On which nodes the pods of drivers may start, as chart values."""

from __future__ import annotations

from typing import Any


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
