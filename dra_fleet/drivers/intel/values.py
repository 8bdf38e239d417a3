"""Values for the chart of Intel's GPU driver, and what it refuses.

Source: https://github.com/intel/intel-resource-drivers-for-kubernetes, `charts/intel-gpu-resource-driver`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dra_fleet.drivers.common.affinity import node_affinity, node_label
from dra_fleet.drivers.common.values import value_at
from dra_fleet.findings.refusal import Refusal
from dra_fleet.kubernetes.scheduling.taints import toleration_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.driver import Release
    from dra_fleet.model.plan import ChartValues, PoolPlan

_PUBLISHER: Final = "gpu.intel.com"


def values(release: Release) -> ChartValues:
    """The plugin on the pools with Intel GPUs, whose taints it tolerates beside those of the chart."""
    served = _served(release)
    chosen: dict[str, Any] = {}
    if served and all(pool.labels for pool in served):
        terms = [[node_label(*label) for label in pool.labels.items()] for pool in served]
        chosen["affinity"] = node_affinity(terms)
    taints = [taint for pool in served for taint in pool.taints]
    if taints:
        chosen["tolerations"] = toleration_list(taints, release.version.plugin_tolerations)
    return {"kubeletPlugin": chosen} if chosen else {}


def guards(release: Release, final: ChartValues) -> Sequence[Refusal]:
    """A selector that the chart leaves out where rules of node features choose the nodes."""
    del release
    given = value_at(final, "kubeletPlugin.nodeSelector")
    if not given or not value_at(final, "nodeFeatureRules.enabled", default=False):
        return ()
    return (
        Refusal(
            path="kubeletPlugin.nodeSelector",
            what="is left out by the chart where nodeFeatureRules.enabled is true",
            fix="remove one of them",
        ),
    )


def conflicts(release: Release) -> Sequence[Refusal]:
    """A cluster without Intel GPUs."""
    if not release.pools or _served(release):
        return ()
    fix = (
        f"describe them: devices: [{{driver: {_PUBLISHER}, name: gpu, count: 2, …}}] of a pool; or remove it"
    )
    return (Refusal(what="serves Intel GPUs, which no pool of this cluster has", fix=fix),)


def priority_keys(values: ChartValues) -> Sequence[str]:
    """None: its pods are not critical."""
    del values
    return ()


def _served(release: Release) -> list[PoolPlan]:
    return [pool for pool in release.pools if any(item.driver == _PUBLISHER for item in pool.devices)]
