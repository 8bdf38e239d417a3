"""Chart values on EKS beyond the drivers' own: where plugin and controller may run, and NVLink fabrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.clouds.eks.pools import NVL_DOMAIN
from dra_fleet.drivers.common.affinity import node_affinity, node_label
from dra_fleet.drivers.common.values import merged
from dra_fleet.model.labels import POOL

if TYPE_CHECKING:
    from dra_fleet.drivers.driver import Driver, Release
    from dra_fleet.model.plan import ChartValues

SYSTEM_POOL = "system"


def eks_driver_values(
    driver: Driver, release: Release, theirs: ChartValues, *, discovers_features: bool
) -> ChartValues:
    """What a driver's chart needs on EKS.

    Args:
        driver: the driver.
        release: the release to be made.
        theirs: the stack's own values, which decide whether there is a controller.
        discovers_features: whether the GPU Operator's feature discovery labels the nodes' NVLink fabric.
    """
    fabric = driver.fabric_values(release, NVL_DOMAIN, is_labelled=discovers_features)
    chosen: dict[str, Any] = merged(fabric, driver.placement_values(release))
    if driver.has_controller(merged(fabric, theirs), default=False):
        controller: dict[str, Any] = {
            "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
            "nodeSelector": {POOL: SYSTEM_POOL},
        }
        if release.version.controller_needs_control_plane:
            # EKS has no control-plane nodes, and Helm lays values over the chart's own affinity.
            controller["affinity"] = node_affinity([[node_label(POOL, SYSTEM_POOL)]])
        chosen["controller"] = controller
    return chosen
