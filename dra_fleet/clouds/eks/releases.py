"""Chart values on EKS beyond the drivers' own: where plugin and controller may run, and ComputeDomains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.clouds.common.affinity import after_partitioning, node_affinity
from dra_fleet.clouds.eks.pools import NVL_DOMAIN
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.nvidia.operator import partitioned
from dra_fleet.model.labels import POOL

if TYPE_CHECKING:
    from dra_fleet.drivers.driver import Release
    from dra_fleet.model.plan import ChartValues

SYSTEM_POOL = "system"
_CLIQUE_LABEL = "kubeletPlugin.containers.computeDomains.gpuCliqueLabelEnabled"
_FABRIC_GATE = "CrashOnNVLinkFabricErrors"


def eks_driver_values(
    name: str, release: Release, theirs: ChartValues, *, discovers_features: bool
) -> ChartValues:
    """What the NVIDIA driver's chart needs on EKS.

    Args:
        name: the driver's name in the stack file.
        release: the release to be made.
        theirs: the stack's own values, which decide whether there is a controller.
        discovers_features: whether the GPU Operator's feature discovery labels the nodes' NVLink fabric.
    """
    if name != "nvidia":
        return {}
    chosen: dict[str, Any] = {}
    gpu_pools = [pool for pool in release.pools if pool.machine.gpus]
    in_domain = [pool.name for pool in gpu_pools if pool.machine.fabric == NVL_DOMAIN]
    if in_domain:
        chosen["resources"] = {"computeDomains": {"enabled": True}}
        if len(in_domain) < len(gpu_pools) and _FABRIC_GATE in release.version.feature_gates:
            # One DaemonSet serves all pools, and its plugin would crash where there is no such fabric.
            chosen["featureGates"] = {_FABRIC_GATE: False}
    if in_domain and not discovers_features and _CLIQUE_LABEL in release.version.values:
        # Pods of a ComputeDomain find each other by this label. Two who set it would undo each other.
        chosen["kubeletPlugin"] = {"containers": {"computeDomains": {"gpuCliqueLabelEnabled": True}}}
    cut = [pool.name for pool, _, _ in partitioned(release.pools)]
    if cut:
        chosen["kubeletPlugin"] = {**chosen.get("kubeletPlugin", {}), "affinity": after_partitioning(cut)}
    domains = value_at(theirs, "resources.computeDomains.enabled", default=bool(in_domain))
    if domains:
        controller: dict[str, Any] = {
            "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
            "nodeSelector": {POOL: SYSTEM_POOL},
        }
        if release.version.controller_needs_control_plane:
            # EKS has no control-plane nodes, and Helm lays values over the chart's own affinity.
            system = [[{"key": POOL, "operator": "In", "values": [SYSTEM_POOL]}]]
            controller["affinity"] = node_affinity(system)
        chosen["controller"] = controller
    return chosen
