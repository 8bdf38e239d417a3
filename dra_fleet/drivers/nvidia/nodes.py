"""What a node's labels say about its MIG partitions: whether they were asked for, and how far they are.

The GPU Operator's MIG manager reads `nvidia.com/mig.config` and answers in `nvidia.com/mig.config.state`:
https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dra_fleet.drivers.nvidia.labels import MIG_CONFIG as CONFIG
from dra_fleet.drivers.nvidia.labels import MIG_NONE as _NONE
from dra_fleet.drivers.nvidia.labels import MIG_READY as _DONE
from dra_fleet.drivers.nvidia.labels import MIG_STATE as STATE
from dra_fleet.drivers.nvidia.pool_nodes import fabric_values, placement_values, pool_labels

if TYPE_CHECKING:
    from dra_fleet.cel.intent import Asked

    Object = dict[str, Any]

__all__ = ["awaits", "fabric_values", "placement_values", "pool_labels", "undivided", "unusable"]


def awaits(spec: Object, node: Object) -> str | None:
    """What the driver's pods, which run on partitioned nodes only, wait for on a node; None for nothing."""
    labels = node["metadata"].get("labels", {})
    wanted = json.dumps(spec.get("affinity", {})) + json.dumps(spec.get("nodeSelector", {}))
    if STATE not in wanted or CONFIG not in labels or labels.get(STATE) == _DONE:
        return None
    return (
        f"the driver waits until the GPUs of node {node['metadata']['name']} are partitioned: "
        + _progress(labels)
    )


def undivided(asks: Asked, device: Object, node: Object) -> str:
    """Why a node shows whole GPUs where partitions are asked for, and what to do; empty otherwise."""
    wants_partition = "mig" in asks.texts("type") or asks.reads("profile")
    if not wants_partition or device.get("attributes", {}).get("type", {}).get("string") != "gpu":
        return ""
    labels = node["metadata"].get("labels", {})
    told = f"the GPUs of node {node['metadata']['name']} are whole"
    config = labels.get(CONFIG)
    if config is None:
        return f"{told}: label its pool {CONFIG}=all-1g.10gb, or another layout, for the GPU Operator"
    if config == _NONE:
        return f"{told}: {CONFIG} is {_NONE}, which makes no partitions; name a layout such as all-1g.10gb"
    if labels.get(STATE) == _DONE:
        return f"{told}, though {STATE} is {_DONE}: the driver started before the partitions; restart its pod"
    return f"{told}: {_progress(labels)}"


def unusable() -> str:
    """Why a running plugin may find nothing on its host."""
    return "no GPU or driver, or MIG mode on without partitions"


def _progress(labels: Object) -> str:
    state = labels.get(STATE)
    if state is None:
        return (
            f"{CONFIG} is {labels[CONFIG]} and nobody has begun ({STATE} is not set); "
            "see whether the GPU Operator's MIG manager runs there"
        )
    if state == "failed":
        return f"{STATE} is failed for {CONFIG}={labels[CONFIG]}; see the log of the MIG manager's pod there"
    return f"{STATE} is {state} for {CONFIG}={labels[CONFIG]}"
