"""What NVIDIA's driver needs of nodes: labels, chart values by which its plugin starts in time, MIG progress.

The GPU Operator's MIG manager reads `nvidia.com/mig.config` and answers in `nvidia.com/mig.config.state`:
https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dra_fleet.drivers.common.affinity import node_affinity, node_label
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.labels import (
    EVICTION,
    GPU_PRESENT,
    MIG_CONFIG,
    MIG_NONE,
    MIG_READY,
    MIG_STATE,
)
from dra_fleet.drivers.nvidia.mig_config import config_name
from dra_fleet.drivers.nvidia.settings import MigSharing
from dra_fleet.drivers.nvidia.sharing import is_divided
from dra_fleet.model.labels import POOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.base import Release
    from dra_fleet.kubernetes.cel.intent import Asked
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.nodes import Object
    from dra_fleet.model.plan import ChartValues
    from dra_fleet.model.sharing import Sharing

_FABRIC_GATE = "CrashOnNVLinkFabricErrors"
_CLIQUE_LABEL = "kubeletPlugin.containers.computeDomains.gpuCliqueLabelEnabled"


def pool_labels(machine: Machine, wanted: Sharing, *, by_operator: bool) -> dict[str, str]:
    """That there are GPUs, that the operator may move the plugin away, and the name of the MIG layout."""
    labels: dict[str, str] = {}
    if machine.gpus:
        labels[GPU_PRESENT] = "true"
        if by_operator:
            labels[EVICTION] = "true"
    if isinstance(wanted, MigSharing) and machine.gpu is not None:
        labels[MIG_CONFIG] = config_name(nvidia_facts.gpus()[machine.gpu], wanted.layout)
    return labels


def placement_values(release: Release) -> ChartValues:
    """The plugin waits for partitions, and is where the operator may move it away from a driver upgrade."""
    chosen: dict[str, Any] = {}
    cut = [pool.name for pool in release.pools if is_divided(pool.machine, pool.sharing)]
    if cut:
        chosen["affinity"] = after_partitioning(cut)
    if any(pool.gpu_driver == "operator" for pool in release.pools if pool.machine.gpus):
        chosen["nodeSelector"] = {EVICTION: "true"}
    return {"kubeletPlugin": chosen} if chosen else {}


def after_partitioning(pools: Sequence[str]) -> dict[str, Any]:
    """A plugin that starts before the partitions exist would publish whole GPUs."""
    present = node_label(GPU_PRESENT, "true")
    return node_affinity(
        [
            [present, {"key": POOL, "operator": "NotIn", "values": list(pools)}],
            [present, node_label(POOL, *pools), node_label(MIG_STATE, MIG_READY)],
        ]
    )


def fabric_values(release: Release, fabric: str, *, is_labelled: bool) -> ChartValues:
    """ComputeDomains, where GPUs of some pools reach those of other machines over NVLink."""
    with_gpus = [pool for pool in release.pools if pool.machine.gpus]
    joined = [pool for pool in with_gpus if pool.machine.fabric == fabric]
    if not joined:
        return {}
    chosen: dict[str, Any] = {"resources": {"computeDomains": {"enabled": True}}}
    if len(joined) < len(with_gpus) and _FABRIC_GATE in release.version.feature_gates:
        # One DaemonSet serves all pools, and its plugin would crash where there is no such fabric.
        chosen["featureGates"] = {_FABRIC_GATE: False}
    if not is_labelled and _CLIQUE_LABEL in release.version.values:
        # Pods of a ComputeDomain find each other by this label. Two who set it would undo each other.
        chosen["kubeletPlugin"] = {"containers": {"computeDomains": {"gpuCliqueLabelEnabled": True}}}
    return chosen


def awaits(spec: Object, node: Object) -> str | None:
    """What the driver's pods, which run on partitioned nodes only, wait for on a node; None for nothing."""
    labels = node["metadata"].get("labels", {})
    wanted = json.dumps(spec.get("affinity", {})) + json.dumps(spec.get("nodeSelector", {}))
    if MIG_STATE not in wanted or MIG_CONFIG not in labels or labels.get(MIG_STATE) == MIG_READY:
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
    config = labels.get(MIG_CONFIG)
    if config is None:
        return f"{told}: label its pool {MIG_CONFIG}=all-1g.10gb, or another layout, for the GPU Operator"
    if config == MIG_NONE:
        return (
            f"{told}: {MIG_CONFIG} is {MIG_NONE}, which makes no partitions; "
            "name a layout such as all-1g.10gb"
        )
    if labels.get(MIG_STATE) == MIG_READY:
        return (
            f"{told}, though {MIG_STATE} is {MIG_READY}: the driver started before the partitions; "
            "restart its pod"
        )
    return f"{told}: {_progress(labels)}"


def _progress(labels: Object) -> str:
    state = labels.get(MIG_STATE)
    if state is None:
        return (
            f"{MIG_CONFIG} is {labels[MIG_CONFIG]} and nobody has begun ({MIG_STATE} is not set); "
            "see whether the GPU Operator's MIG manager runs there"
        )
    if state == "failed":
        return (
            f"{MIG_STATE} is failed for {MIG_CONFIG}={labels[MIG_CONFIG]}; "
            "see the log of the MIG manager's pod there"
        )
    return f"{MIG_STATE} is {state} for {MIG_CONFIG}={labels[MIG_CONFIG]}"
