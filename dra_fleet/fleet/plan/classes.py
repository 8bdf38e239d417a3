"""DeviceClasses: from what the stack file requests to specs, and which clusters get them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet import clouds, drivers
from dra_fleet.core.findings.errors import under
from dra_fleet.drivers.common.selectors import selector
from dra_fleet.kubernetes.devices.device_class import DeviceClassSpec
from dra_fleet.kubernetes.devices.gates import check_minor
from dra_fleet.model.classes import CelClass, IntentClass
from dra_fleet.model.plan import DeviceClassPlan
from dra_fleet.model.specs import spec_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers import Driver
    from dra_fleet.fleet.settings import FleetSettings
    from dra_fleet.model.classes import ClassSettings
    from dra_fleet.model.fleet import ClusterSettings
    from dra_fleet.model.managed import ManagedDriver


def class_specs(settings: FleetSettings, findings: Findings) -> dict[str, DeviceClassSpec]:
    """Return the spec of every class, without invalid ones."""
    specs: dict[str, DeviceClassSpec] = {}
    for name, requested in sorted(settings.classes.items()):
        owner = drivers.of_class(name)
        if owner is not None:
            findings.error(
                "classes",
                name,
                what=f"is the name of a class that the {owner.name} driver's chart installs itself",
                got=name,
                fix="choose another name; claims may request the chart's class without declaring it",
            )
            continue
        expressions = _expressions(name, requested, settings, findings)
        if expressions is None:
            continue
        value: dict[str, Any] = {
            "selectors": [{"cel": {"expression": expression}} for expression in expressions],
            "config": [{"opaque": item.model_dump()} for item in requested.config],
            "extendedResourceName": requested.extended_resource_name,
        }
        spec = spec_or_none(DeviceClassSpec, value, ("classes", name), findings)
        if spec is not None:
            specs[name] = spec
    return specs


def plan_classes(
    cluster: str,
    minor: str,
    settings: FleetSettings,
    specs: Mapping[str, DeviceClassSpec],
    findings: Findings,
) -> tuple[DeviceClassPlan, ...]:
    """Return the classes of one cluster: those whose driver it has."""
    has = settings.clusters[cluster]
    planned = [
        DeviceClassPlan(name=name, spec=spec)
        for name, spec in specs.items()
        if is_installed(settings.classes[name], has)
    ]
    for item in planned:
        for problem in check_minor("DeviceClass", {"spec": item.spec.to_object()}, minor):
            field = problem.path.removeprefix("spec.")
            findings.error(
                "classes", item.name, field, what=f"on cluster {cluster}: {problem.what}", fix=problem.fix
            )
    return tuple(planned)


def is_installed(requested: ClassSettings, cluster: ClusterSettings) -> bool:
    """Return True if a cluster gets a class: CEL may select any driver, and existing drivers are unknown."""
    return (
        isinstance(requested, CelClass)
        or not cluster.drivers
        or requested.driver in cluster.drivers
        or any(item.driver == requested.driver for item in managed_in(cluster))
    )


def managed_in(cluster: ClusterSettings) -> list[ManagedDriver]:
    """Return the DRA drivers that the cloud runs itself on some pool of a cluster."""
    cloud = clouds.named(cluster.cloud)
    return [item for pool in cluster.pools for item in cloud.managed_on(pool, cluster)]


def chart_classes(cluster: ClusterSettings) -> frozenset[str]:
    """Return the classes that driver charts install in a cluster.

    All known ones if dra-fleet installs none.
    """
    found: set[str] = set(clouds.named(cluster.cloud).own_classes(cluster))
    if not cluster.drivers:
        return frozenset(found.union(*(driver.facts.owned_classes for driver in drivers.known())))
    for name, settings in cluster.drivers.items():
        driver = drivers.named(name)
        version = driver.facts.checked_version(settings.version) if driver is not None else None
        found |= set(version.classes) if version is not None else set()
    return frozenset(found)


def classes_there(settings: FleetSettings) -> dict[str, frozenset[str]]:
    """Return the classes of each cluster."""
    return {name: classes_on(cluster, settings) for name, cluster in settings.clusters.items()}


def classes_on(cluster: ClusterSettings, settings: FleetSettings) -> frozenset[str]:
    """Return the classes of a cluster: the stack's, its charts' and its cloud's."""
    own = (name for name, requested in settings.classes.items() if is_installed(requested, cluster))
    return chart_classes(cluster).union(own)


def _expressions(
    name: str, requested: ClassSettings, settings: FleetSettings, findings: Findings
) -> tuple[str, ...] | None:
    if isinstance(requested, CelClass):
        return requested.cel
    at = ("classes", name)
    driver = _driver_of(requested, settings)
    if driver is None:
        findings.unknown(
            *at,
            "driver",
            what="is not a known DRA driver",
            got=requested.driver,
            known=drivers.names(),
        )
        return None
    if not any(is_installed(requested, cluster) for cluster in settings.clusters.values()):
        findings.error(
            *at,
            "driver",
            what="is installed in no cluster of this stack, so that the class would match nothing",
            got=requested.driver,
            allowed=", ".join(
                sorted({driver for cluster in settings.clusters.values() for driver in cluster.drivers})
            ),
            fix=f"add {requested.driver} to the drivers of a cluster, or remove the class",
            follows=tuple(f"{under('clusters', cluster, 'drivers')}." for cluster in settings.clusters),
        )
        return None
    return _intent(at, requested, driver, findings)


def _driver_of(requested: IntentClass, settings: FleetSettings) -> Driver | None:
    """Return the class' driver: a known one, or the one that a cluster describes."""
    described = (cluster.drivers.get(requested.driver) for cluster in settings.clusters.values())
    found = (drivers.asked_for(requested.driver, one) for one in described if one is not None)
    return drivers.named(requested.driver) or next(filter(None, found), None)


def _intent(
    at: tuple[str, ...], requested: IntentClass, driver: Driver, findings: Findings
) -> tuple[str, ...] | None:
    expression, problems = selector(requested, driver)
    for problem in problems:
        findings.refuse(problem, *at)
    return None if problems else (expression,)
