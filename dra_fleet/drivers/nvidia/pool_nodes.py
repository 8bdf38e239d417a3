"""What nodes of a pool need for the driver: labels, and chart values by which its plugin starts in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.drivers.common.affinity import node_affinity, node_label
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.labels import EVICTION, GPU_PRESENT, MIG_CONFIG, MIG_READY, MIG_STATE
from dra_fleet.drivers.nvidia.mig_config import config_name
from dra_fleet.drivers.nvidia.sharing import is_divided
from dra_fleet.drivers.nvidia.sharing_settings import MigSharing
from dra_fleet.model.labels import POOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.driver import Release
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.plan import ChartValues
    from dra_fleet.settings.sharing import Sharing

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
