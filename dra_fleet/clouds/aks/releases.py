"""The DRA driver's chart values on AKS beyond the driver's own: where its plugin and controller may run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.clouds.common.affinity import after_partitioning, node_affinity, node_label
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.nvidia.labels import EVICTION
from dra_fleet.drivers.nvidia.operator import partitioned

if TYPE_CHECKING:
    from dra_fleet.drivers.driver import Release
    from dra_fleet.model.plan import ChartValues


def aks_driver_values(name: str, release: Release, theirs: ChartValues) -> ChartValues:
    """What the NVIDIA driver's chart needs on AKS.

    Args:
        name: the driver's name in the stack file.
        release: the release to be made.
        theirs: the stack's own values, which decide whether there is a controller.
    """
    if name != "nvidia":
        return {}
    chosen: dict[str, Any] = {}
    cut = [pool.name for pool, _, _ in partitioned(release.pools)]
    if cut:
        chosen["kubeletPlugin"] = {"affinity": after_partitioning(cut)}
    if any(pool.gpu_driver == "operator" for pool in release.pools if pool.machine.gpus):
        chosen.setdefault("kubeletPlugin", {})["nodeSelector"] = {EVICTION: "true"}
    domains = value_at(theirs, "resources.computeDomains.enabled", default=False)
    if domains and release.version.controller_needs_control_plane:
        chosen["controller"] = {
            "affinity": node_affinity([[node_label("kubernetes.azure.com/mode", "system")]]),
            "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
        }
    return chosen
