"""The DRA drivers that run on a cluster, by this program's release or by someone else's."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from dra_fleet import drivers
from dra_fleet.drivers.common.values import value_at

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dra_fleet.drivers.base import Driver
    from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts
    from dra_fleet.model.managed import ManagedDriver
    from dra_fleet.model.plan import ChartValues, ClusterPlan


class Installed(Struct, frozen=True, kw_only=True, dict=True):
    """A driver that runs on a cluster, installed by dra-fleet or by others.

    Attributes:
        driver: The driver.
        version: The chart version.
        values: The chart's values.
        is_assumed: True if others installed it, so that version and values are a guess.
        is_managed: True if the cloud runs its own build of it on pools that request it.
    """

    driver: Driver
    version: ChartVersion
    values: ChartValues
    is_assumed: bool = False
    is_managed: bool = False

    @property
    def facts(self) -> DriverFacts:
        """Facts of the driver."""
        return self.driver.facts

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The names of the attributes that it publishes on some device."""
        return self.facts.attributes_in(self.version.version)

    @property
    def gates(self) -> Mapping[str, bool]:
        """The driver's own feature gates as they are set."""
        given = cast("Mapping[str, bool]", value_at(self.values, "featureGates") or {})
        return {**self.version.feature_gates, **given}


def drivers_of(cluster: ClusterPlan, named: Collection[str] = ()) -> list[Installed]:
    """Return the drivers of a cluster.

    If dra-fleet installs none there, the newest chart of each named driver.

    Args:
        cluster: The plan.
        named: The driver names in the cluster's selectors.
    """
    managed = {item.driver: item for pool in cluster.pools for item in pool.managed_drivers}
    found = [
        Installed(driver=driver, version=_version_of(driver, item), values=item.values, is_managed=True)
        for name, item in sorted(managed.items())
        if (driver := drivers.named(name)) is not None
    ]
    if not cluster.settings.drivers:
        return found + [
            Installed(driver=driver, version=driver.facts.versions[-1], values={}, is_assumed=True)
            for driver in drivers.known()
            if (driver.is_usual or driver.facts.driver in named) and driver.name not in managed
        ]
    released = {release.driver: release.values for release in cluster.releases}
    for name, settings in sorted(cluster.settings.drivers.items()):
        driver = drivers.asked_for(name, settings)
        version = driver.facts.checked_version(settings.version) if driver is not None else None
        if driver is not None and version is not None:
            values = released.get(driver.facts.driver, settings.values)
            found.append(Installed(driver=driver, version=version, values=values))
    return found


def _version_of(driver: Driver, managed: ManagedDriver) -> ChartVersion:
    """Return the version that a provider runs; the newest known one if no source names it."""
    known = None if managed.version is None else driver.facts.checked_version(managed.version)
    return driver.facts.versions[-1] if known is None else known
