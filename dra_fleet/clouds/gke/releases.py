"""DRA drivers' chart values on GKE beyond the drivers' own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.clouds.gke import CLOUD
from dra_fleet.drivers.common.values import value_at

if TYPE_CHECKING:
    from dra_fleet.drivers.driver import Release
    from dra_fleet.model.plan import ChartValues

CRITICAL = CLOUD.guarded_priorities
_EVERY_TAINT = [{"operator": "Exists"}]


def gke_driver_values(name: str, release: Release, theirs: ChartValues) -> ChartValues:
    """What the drivers' charts need on GKE.

    GKE admits critical priority classes only where a ResourceQuota allows them, or in kube-system.

    Args:
        name: the driver's name in the stack file.
        release: the release to be made.
        theirs: the stack's own values, which decide whether there is a controller.
    """
    if name not in ("nvidia", "tpu"):
        return {}
    chosen: dict[str, Any] = {"kubeletPlugin": {"priorityClassName": "", "tolerations": _EVERY_TAINT}}
    if name == "nvidia" and value_at(theirs, "resources.computeDomains.enabled", default=False):
        # null unsets the older charts' affinity for control plane nodes, which GKE does not show.
        anywhere: dict[str, Any] = {"affinity": None}
        needs = release.version.controller_needs_control_plane
        chosen["controller"] = {"priorityClassName": "", **(anywhere if needs else {})}
    return chosen
