"""DRA drivers' chart values on GKE beyond the drivers' own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.gke import CLOUD
from dra_fleet.drivers.common.values import merged, nested

if TYPE_CHECKING:
    from dra_fleet.drivers.driver import Driver, Release
    from dra_fleet.model.plan import ChartValues

CRITICAL = CLOUD.guarded_priorities
_EVERY_TAINT = [{"operator": "Exists"}]


def gke_driver_values(driver: Driver, release: Release, theirs: ChartValues) -> ChartValues:
    """What a driver's chart needs on GKE.

    GKE admits critical priority classes only where a ResourceQuota allows them, or in kube-system.

    Args:
        driver: the driver.
        release: the release to be made.
        theirs: the stack's own values, which decide whether there is a controller.
    """
    values = merged(driver.values(release), theirs)
    chosen = nested({driver.plugin_key("tolerations"): _EVERY_TAINT})
    chosen = merged(chosen, nested(dict.fromkeys(driver.priority_keys(values, release.version), "")))
    if driver.has_controller(theirs, default=False) and release.version.controller_needs_control_plane:
        # null unsets the older charts' affinity for control plane nodes, which GKE does not show.
        chosen = merged(chosen, {"controller": {"affinity": None}})
    return chosen
