"""DRA drivers' chart values on AKS beyond the drivers' own: where plugin and controller may run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.drivers.common.affinity import node_affinity, node_label

if TYPE_CHECKING:
    from dra_fleet.drivers.driver import Driver, Release
    from dra_fleet.model.plan import ChartValues


def aks_driver_values(driver: Driver, release: Release, theirs: ChartValues) -> ChartValues:
    """What a driver's chart needs on AKS.

    Args:
        driver: the driver.
        release: the release to be made.
        theirs: the stack's own values, which decide whether there is a controller.
    """
    chosen: dict[str, Any] = {**driver.placement_values(release)}
    if driver.has_controller(theirs, default=False) and release.version.controller_needs_control_plane:
        chosen["controller"] = {
            "affinity": node_affinity([[node_label("kubernetes.azure.com/mode", "system")]]),
            "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
        }
    return chosen
