"""The DRA drivers that run on a cluster, by this program's release or by somebody else's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet import hardware as catalogue

if TYPE_CHECKING:
    from collections.abc import Collection

    from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts
    from dra_fleet.model.plan import ChartValues, ClusterPlan


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A driver that runs on a cluster, by this program's release or by somebody else's.

    Attributes:
        facts: What is known of the driver.
        version: The chart version.
        values: The chart's values.
        is_assumed: Whether somebody else installed it, so that version and values are a guess.
    """

    facts: DriverFacts
    version: ChartVersion
    values: ChartValues
    is_assumed: bool = False


def drivers_of(cluster: ClusterPlan, named: Collection[str] = ()) -> list[Installed]:
    """The drivers of a cluster; where it brings its own, the newest known chart of each that is asked for."""
    drivers = catalogue.load().drivers
    if not cluster.settings.drivers:
        return [
            Installed(facts=facts, version=facts.versions[-1], values={}, is_assumed=True)
            for name, facts in drivers.items()
            if name == "nvidia" or facts.driver in named
        ]
    released = {release.driver: release.values for release in cluster.releases}
    found: list[Installed] = []
    for name, settings in sorted(cluster.settings.drivers.items()):
        facts = drivers[name]
        version = facts.version(settings.version)
        if version is not None:
            values = released.get(facts.driver, settings.values)
            found.append(Installed(facts=facts, version=version, values=values))
    return found
