"""DRA drivers' chart values on ACK beyond the drivers' own: where their pods run, and images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.clouds.ack.labels import LEFT_ALONE, SCHEDULING
from dra_fleet.drivers.common.affinity import node_affinity, node_label
from dra_fleet.drivers.common.values import merged, nested

if TYPE_CHECKING:
    from dra_fleet.clouds.ack.settings import AckClusterSettings
    from dra_fleet.drivers.driver import Driver, Release
    from dra_fleet.model.plan import ChartValues

IMAGE = "image.repository"
"""Where charts are told from where their image comes."""


def ack_driver_values(
    driver: Driver, release: Release, settings: AckClusterSettings, theirs: ChartValues
) -> ChartValues:
    """What a driver's chart needs on ACK.

    Args:
        driver: the driver.
        release: the release to be made.
        settings: the cluster's.
        theirs: the stack's own values, which decide whether there is a controller.
    """
    chosen: dict[str, Any] = {**driver.placement_values(release)}
    if advertises_gpus(driver) and any(driver.serves(pool.machine) for pool in release.pools):
        affinity = node_affinity([[node_label(SCHEDULING, LEFT_ALONE)]])
        chosen = merged(chosen, nested({driver.plugin_key("affinity"): affinity}))
    if driver.has_controller(theirs, default=False) and release.version.controller_needs_control_plane:
        # null unsets the older charts' affinity for control plane nodes, which ACK does not show.
        chosen = merged(chosen, {"controller": {"affinity": None}})
    if settings.registry is not None and IMAGE in release.version.values:
        chosen = merged(chosen, nested({IMAGE: f"{settings.registry}/{release.version.chart}"}))
    return chosen


def advertises_gpus(driver: Driver) -> bool:
    """Whether a driver publishes what ACK's own device plugin advertises."""
    return driver.resources.told_by == "gpus"
