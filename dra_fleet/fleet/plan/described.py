"""Drivers and devices that the stack file describes: they must fit each other, and nothing that is known."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.drivers.common.told_devices import type_of

if TYPE_CHECKING:
    from dra_fleet.core.findings.refusals import Findings
    from dra_fleet.drivers import Driver
    from dra_fleet.model.clusters import ClusterSettings, PoolView
    from dra_fleet.model.pools import DescribedDevices

MOST_ENTRIES: Final = 32
"""Attributes and capacities of one device:
https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-slice-v1/."""


def check_described(cluster: str, settings: ClusterSettings, findings: Findings) -> None:
    """Refuse descriptions that contradict what the program knows, or that no driver answers for.

    Args:
        cluster: the cluster's name.
        settings: the cluster.
        findings: collects the problems.
    """
    publishing: list[str] = []
    for name, driver in sorted(settings.drivers.items()):
        if driver.described is None:
            continue
        at = ("clusters", cluster, "drivers", name, "described")
        publishing.append(driver.described.publishes)
        if drivers.named(name) is not None:
            what = "describes a driver that this program knows"
            findings.error(*at, what=what, got=name, fix="remove it, or choose another name")
        elif (known := drivers.publishing(driver.described.publishes)) is not None:
            findings.error(
                *at,
                "publishes",
                what=f"is what the driver {known.name} publishes under, which this program knows",
                got=driver.described.publishes,
                fix=f"write {known.name} in its place",
            )
    for name, pool in sorted(settings.pools.items()):
        _check_devices(("clusters", cluster, "pools", name, "devices"), settings, publishing, pool, findings)


def _check_devices(
    at: tuple[str, ...],
    cluster: ClusterSettings,
    publishing: list[str],
    pool: PoolView,
    findings: Findings,
) -> None:
    names = Counter((item.driver, item.name) for item in pool.devices)
    for index, item in enumerate(pool.devices):
        here = (*at, index)
        known = drivers.publishing(item.driver)
        if known is not None and not known.takes_descriptions:
            findings.error(
                *here,
                "driver",
                what=f"is known: driver {known.name} publishes what follows from the machine",
                got=item.driver,
                fix="remove the devices",
            )
        elif known is not None:
            _check_known(here, cluster, known, item, findings)
        elif cluster.drivers and item.driver not in publishing:
            findings.error(
                *here,
                "driver",
                what="is published by no driver of the cluster",
                got=item.driver,
                allowed=", ".join(sorted(publishing)),
                fix=f"describe its driver: drivers: {{NAME: {{version: VERSION, described: "
                f"{{publishes: {item.driver}, chart: CHART}}}}}}",
            )
        if names[item.driver, item.name] > 1:
            what = "is the name of other devices of the pool"
            findings.error(*here, "name", what=what, got=item.name, fix="choose another name")
        entries = len(item.attributes) + len(item.capacity)
        if entries > MOST_ENTRIES:
            what = "has more attributes and capacities than a device may"
            findings.error(*here, what=what, got=str(entries), allowed=f"at most {MOST_ENTRIES}")


def _check_known(
    at: tuple[object, ...],
    cluster: ClusterSettings,
    driver: Driver,
    item: DescribedDevices,
    findings: Findings,
) -> None:
    """Devices of a driver that is known have attributes and capacities that it publishes."""
    if cluster.drivers and driver.name not in cluster.drivers:
        what = f"is published by driver {driver.name}, which the cluster has not"
        findings.error(*at, "driver", what=what, got=item.driver, fix=f"add {driver.name} to its drivers")
        return
    facts = driver.facts
    types = {one.name: one.type for one in facts.attributes}
    own = f"{item.driver}/"
    for key, value in item.attributes.items():
        name = key.removeprefix(own)
        if name not in types:
            what = f"is no attribute that driver {driver.name} publishes"
            findings.unknown(*at, "attributes", what=what, got=name, known=sorted(types))
        elif type_of(value) != types[name]:
            what = f"is published as {types[name]}"
            findings.error(*at, "attributes", key, what=what, got=type_of(value))
    capacities = {one.name for one in facts.capacities}
    for name in sorted({key.removeprefix(own) for key in item.capacity} - capacities):
        what = f"is no capacity that driver {driver.name} publishes"
        findings.unknown(*at, "capacity", what=what, got=name, known=sorted(capacities))
