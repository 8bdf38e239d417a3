"""Chart values that put a driver's plugin on the nodes with its devices, and on no others where they can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.core.findings.refusal import Refusal
from dra_fleet.drivers.common.affinity import node_affinity, node_label
from dra_fleet.drivers.common.values import nested
from dra_fleet.kubernetes.scheduling.taints import toleration_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.base import Driver, Release
    from dra_fleet.model.plan import ChartValues


def placed(driver: Driver, release: Release) -> ChartValues:
    """The plugin on the pools with the driver's devices, whose taints it tolerates beside those of the chart.

    Args:
        driver: the driver.
        release: the release to be made.
    """
    served, version = driver.served(release.pools), release.version
    affinity, chosen = driver.plugin_key("affinity"), dict[str, object]()
    if affinity in version.values and served and all(pool.labels for pool in served):
        chosen[affinity] = node_affinity(
            [[node_label(*label) for label in pool.labels.items()] for pool in served]
        )
    given = [dict(one) for one in version.plugin_tolerations]
    # Helm replaces lists, so that the chart's own are repeated.
    tolerations = toleration_list((taint for pool in served for taint in pool.taints), given)
    if tolerations != given:
        chosen[driver.plugin_key("tolerations")] = tolerations
    return nested(chosen)


def nothing_served(driver: Driver, release: Release, what: str) -> Sequence[Refusal]:
    """The refusal of a driver on a cluster whose pools have none of its devices.

    Args:
        driver: the driver.
        release: the release to be made.
        what: what the driver serves.
    """
    if not release.pools or driver.served(release.pools):
        return ()
    told = (
        f"describe them: devices: [{{driver: {driver.facts.driver}, name: NAME, count: 2, …}}] of a pool; or "
    )
    where, fix = ("pool", f"{told}remove it") if driver.takes_descriptions else ("machine", "remove it")
    return (Refusal(what=f"serves {what}, which no {where} of this cluster has", fix=fix),)
