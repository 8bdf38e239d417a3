"""The DRA drivers that run on a cluster, by this program's release or by somebody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.drivers.driver import Installed

if TYPE_CHECKING:
    from collections.abc import Collection

    from dra_fleet.model.plan import ClusterPlan


def drivers_of(cluster: ClusterPlan, named: Collection[str] = ()) -> list[Installed]:
    """The drivers of a cluster; where it brings its own, the newest known chart of each that is asked for.

    Args:
        cluster: The plan.
        named: The names under which drivers publish that the cluster's selectors name.
    """
    if not cluster.settings.drivers:
        return [
            Installed(driver=driver, version=driver.facts.versions[-1], values={}, is_assumed=True)
            for driver in drivers.known()
            if driver.is_usual or driver.facts.driver in named
        ]
    released = {release.driver: release.values for release in cluster.releases}
    found: list[Installed] = []
    for name, settings in sorted(cluster.settings.drivers.items()):
        driver = drivers.named(name)
        version = driver.facts.version(settings.version) if driver is not None else None
        if driver is not None and version is not None:
            values = released.get(driver.facts.driver, settings.values)
            found.append(Installed(driver=driver, version=version, values=values))
    return found
