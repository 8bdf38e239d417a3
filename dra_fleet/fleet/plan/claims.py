"""Claims and DeviceClasses: from the stack file's requests to specs, and which clusters get them."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from dra_fleet import clouds, drivers
from dra_fleet.core.findings.errors import under
from dra_fleet.drivers.common.selectors import selector
from dra_fleet.drivers.common.values import value_at
from dra_fleet.kubernetes.cel import asked
from dra_fleet.kubernetes.devices.claim import ClaimSpec
from dra_fleet.kubernetes.devices.device_class import DeviceClassSpec
from dra_fleet.kubernetes.devices.gates import check_minor
from dra_fleet.model.claims import FirstAvailableRequest
from dra_fleet.model.classes import CelClass, IntentClass
from dra_fleet.model.plan import ClaimPlan, ClaimTemplatePlan, DeviceClassPlan
from dra_fleet.model.specs import spec_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers import Driver
    from dra_fleet.fleet.settings import FleetSettings
    from dra_fleet.kubernetes.devices.base import Problem
    from dra_fleet.model.claims import ClaimSettings, CommonRequestSettings, RequestSettings
    from dra_fleet.model.classes import ClassSettings
    from dra_fleet.model.fleet import ClusterSettings
    from dra_fleet.model.managed import ManagedDriver
    from dra_fleet.model.plan import ReleasePlan


_ADMIN_ACCESS = "resource.kubernetes.io/admin-access"
_WEBHOOK: Final = "webhook.enabled"
"""The value of charts that follow the example driver's:
https://github.com/kubernetes-sigs/dra-example-driver/blob/main/deployments/helm/dra-example-driver/values.yaml"""


def claim_specs(settings: FleetSettings, findings: Findings) -> dict[str, ClaimSpec]:
    """Return the spec of every claim, shared by equal claims, without invalid ones."""
    specs: dict[str, ClaimSpec] = {}
    installed = {known for cluster in settings.clusters.values() for known in chart_classes(cluster)}
    classes = frozenset({*settings.classes, *installed})
    published = _publishers(settings)
    alike: dict[str, ClaimSpec] = {}
    for name, claim in sorted(settings.claims.items()):
        known = _check_classes(name, claim, settings, classes, findings)
        value = {"devices": _devices(claim)}
        names = tuple(sorted(claim.requests))
        spec = alike.get(key := repr(value)) or spec_or_none(
            ClaimSpec, value, ("claims", name), findings, lambda parts, names=names: _setting(parts, names)
        )
        if spec is not None:
            alike[key] = spec
        if spec is not None and known:
            _check_readers(name, claim, published, findings)
            specs[name] = spec
    return specs


def clusters_using(settings: FleetSettings) -> Mapping[str, set[str]]:
    """Return, for each claim, the clusters of the workloads that use it."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for workload in settings.workloads.values():
        found[workload.claim].add(workload.cluster)
    return found


def clusters_of(
    name: str,
    used: Mapping[str, set[str]],
    settings: FleetSettings,
    there: Mapping[str, frozenset[str]],
    findings: Findings,
) -> frozenset[str]:
    """Return the clusters of the workloads that use a claim, or all clusters with its classes."""
    claim = settings.claims[name]
    if name in used:
        return frozenset(used[name] & set(settings.clusters))
    found = frozenset(cluster for cluster, has in there.items() if not missing_classes(claim, has))
    if not found:
        findings.error(
            "claims",
            name,
            what="requests classes that no single cluster of this stack has together",
            got=", ".join(sorted({requested for _, requested in claim.classes()})),
            fix="ask for classes of one cluster's drivers",
        )
    return found


def missing_classes(claim: ClaimSettings, there: frozenset[str]) -> list[str]:
    """Return the classes of a claim that a cluster lacks."""
    return sorted({requested for _, requested in claim.classes()} - there)


def plan_claims(
    cluster: str,
    minor: str,
    settings: FleetSettings,
    specs: Mapping[str, ClaimSpec],
    names: Sequence[str],
    *,
    releases: Sequence[ReleasePlan],
    findings: Findings,
) -> tuple[tuple[ClaimTemplatePlan, ...], tuple[ClaimPlan, ...]]:
    """Return the templates and the shared claims of one cluster.

    Each is created after the releases that prepare its devices or whose webhook checks it, and deleted before
    them: no claim is created that no driver can release.
    """
    templates: list[ClaimTemplatePlan] = []
    claims: list[ClaimPlan] = []
    # By identity: claims that ask for the same share a spec.
    dropped: dict[int, list[Problem]] = {}
    for name in names:
        spec, requested = specs[name], settings.claims[name]
        if id(spec) not in dropped:
            dropped[id(spec)] = check_minor("ResourceClaim", {"spec": spec.as_read}, minor)
        _report_dropped(cluster, name, requested, dropped[id(spec)], findings)
        drivers_of_it = {*admitting(releases), *serving(requested, settings, releases)}
        after = tuple(item.name for item in releases if item.name in drivers_of_it)
        if requested.shared:
            claims.append(ClaimPlan(name=name, namespace=settings.namespace, spec=spec, after=after))
        else:
            templates.append(
                ClaimTemplatePlan(
                    name=name,
                    namespace=settings.namespace,
                    spec=spec,
                    external=requested.external,
                    after=after,
                )
            )
    return tuple(templates), tuple(claims)


def serving(
    claim: ClaimSettings, settings: FleetSettings, releases: Sequence[ReleasePlan]
) -> tuple[str, ...]:
    """Return the releases that publish and prepare a claim's devices.

    Drivers that none of its classes selects are excluded. CEL may select any driver's devices.
    """
    requested = {_driver_of(name, settings) for _, name in claim.classes()}
    others = {driver.facts.driver for driver in drivers.known() if driver.name not in requested}
    return tuple(item.name for item in releases if None in requested or item.driver not in others)


def admitting(releases: Sequence[ReleasePlan]) -> tuple[str, ...]:
    """Return the releases whose webhook must be ready before any claim or template is created."""
    return tuple(item.name for item in releases if value_at(item.values, _WEBHOOK, default=False))


def _driver_of(name: str, settings: FleetSettings) -> str | None:
    """Return the driver whose devices a class selects; None if unknown."""
    requested = settings.classes.get(name)
    if requested is not None:
        return requested.driver if isinstance(requested, IntentClass) else None
    owner = drivers.of_class(name)
    return owner.name if owner is not None else None


def namespace_labels(specs: Sequence[ClaimSpec]) -> dict[str, str]:
    """Return the labels that a namespace needs for its claims: admin access is granted per namespace."""
    asked = any(
        request.exactly is not None and request.exactly.admin_access
        for spec in specs
        for request in spec.devices.requests
    )
    return {_ADMIN_ACCESS: "true"} if asked else {}


def _check_classes(
    name: str, claim: ClaimSettings, settings: FleetSettings, known: frozenset[str], findings: Findings
) -> bool:
    unknown = [(path, requested) for path, requested in claim.classes() if requested not in known]
    for path, requested in unknown:
        findings.unknown(
            "claims",
            name,
            *path,
            what="is neither a class of this stack nor one that a driver's chart installs",
            got=requested,
            known=sorted(known),
            fix=f"{_how_to_have(requested, settings)}declare it under classes",
            follows=_drivers_of(requested, settings),
        )
    return not unknown


def _check_readers(name: str, claim: ClaimSettings, published: frozenset[str], findings: Findings) -> None:
    """Refuse parameters for a driver that no cluster runs: Kubernetes skips them silently."""
    for number, config in enumerate(claim.config if published else ()):
        if config.opaque.driver not in published:
            named = drivers.named(config.opaque.driver)
            findings.unknown(
                "claims",
                name,
                "config",
                number,
                "opaque",
                "driver",
                what="publishes nothing on any cluster of this stack, so no driver reads these parameters",
                got=config.opaque.driver,
                known=sorted(published),
                fix=f"did you mean {named.facts.driver}?" if named else "remove them",
            )


def _publishers(settings: FleetSettings) -> frozenset[str]:
    """Return the driver names in ResourceSlices; empty if a cluster has unnamed drivers."""
    found: set[str] = set()
    for cluster in settings.clusters.values():
        if not cluster.drivers:
            return frozenset()
        for name, given in cluster.drivers.items():
            driver = drivers.asked_for(name, given)
            found |= set(driver.publishers if driver is not None else ())
            # A chart may have its driver publish under another name.
            found |= {value for value in given.values.values() if isinstance(value, str)}
        found |= {device.driver for pool in cluster.pools.values() for device in pool.devices}
        managed = (drivers.named(item.driver) for item in managed_in(cluster))
        found |= {name for driver in managed if driver is not None for name in driver.publishers}
        brought = clouds.named(cluster.cloud).own_classes(cluster).values()
        found |= {publisher for text in brought for publisher in asked(text).drivers}
    return frozenset(found)


def _drivers_of(name: str, settings: FleetSettings) -> tuple[str, ...]:
    """Return the paths of the driver that installs a class."""
    owner = drivers.of_class(name)
    if owner is None:
        return ()
    return tuple(f"{under('clusters', cluster, 'drivers', owner.name)}." for cluster in settings.clusters)


def _how_to_have(name: str, settings: FleetSettings) -> str:
    """Return how to install a class of a driver's chart or a cluster's cloud; empty if neither has it."""
    owner = drivers.of_class(name)
    if owner is not None:
        return f"add {owner.name} to the drivers of a cluster whose machines it serves, or "
    used = (clouds.named(cluster.cloud) for cluster in settings.clusters.values())
    offers = (cloud.offered_classes().get(name) for cloud in used)
    setting = next(filter(None, offers), None)
    return f"set {setting} for a pool, or " if setting else ""


def _report_dropped(
    cluster: str, name: str, claim: ClaimSettings, dropped: Sequence[Problem], findings: Findings
) -> None:
    names = tuple(sorted(claim.requests))
    for problem in dropped:
        parts = tuple(part for part in re.split(r"[.\[\]]+", problem.path.removeprefix("spec.")) if part)
        findings.error(
            "claims",
            name,
            *_setting(parts, names),
            what=f"on cluster {cluster}: {problem.what}",
            fix=problem.fix,
        )


def _setting(parts: tuple[str, ...], names: tuple[str, ...]) -> tuple[object, ...]:
    """Return the path in the stack file for a path in a ClaimSpec: requests by name, without `exactly`."""
    words: list[object] = []
    rest = list(parts[1:] if parts[:1] == ("devices",) else parts)
    if rest[:1] == ["requests"] and len(rest) > 1 and rest[1].isdigit():
        words = ["requests", names[int(rest[1])]]
        rest = rest[2:]
    renamed = {"deviceClassName": "class"}
    for part in rest:
        if part != "exactly":
            words.append(int(part) if part.isdigit() else renamed.get(part, part))
    return tuple(words)


def _devices(claim: ClaimSettings) -> dict[str, Any]:
    return {
        "requests": [{"name": name, **_request(request)} for name, request in sorted(claim.requests.items())],
        "constraints": [
            {
                "requests": list(constraint.requests),
                "matchAttribute": constraint.match_attribute,
                "distinctAttribute": constraint.distinct_attribute,
            }
            for constraint in claim.constraints
        ],
        "config": [
            {"requests": list(item.requests), "opaque": item.opaque.model_dump()} for item in claim.config
        ],
    }


def _request(request: RequestSettings) -> dict[str, Any]:
    if isinstance(request, FirstAvailableRequest):
        return {
            "firstAvailable": [{"name": item.name, **_requirements(item)} for item in request.first_available]
        }
    return {"exactly": {**_requirements(request), "adminAccess": request.admin_access or None}}


def _requirements(request: CommonRequestSettings) -> dict[str, Any]:
    return {
        "deviceClassName": request.class_,
        "selectors": [{"cel": {"expression": expression}} for expression in request.selectors],
        "allocationMode": request.allocation_mode,
        "count": request.count,
        "tolerations": [
            {
                "key": toleration.key,
                "operator": toleration.operator,
                "value": toleration.value,
                "effect": toleration.effect,
                "tolerationSeconds": toleration.toleration_seconds,
            }
            for toleration in request.tolerations
        ],
        "capacity": {"requests": dict(request.capacity)} if request.capacity else None,
    }


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
    driver = _driver_of_intent(requested, settings)
    if driver is None:
        named = drivers.publishing(requested.driver)
        findings.unknown(
            *at,
            "driver",
            what="is not a known DRA driver",
            got=requested.driver,
            known=drivers.names(),
            fix=f"did you mean {named.name}?" if named else "",
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


def _driver_of_intent(requested: IntentClass, settings: FleetSettings) -> Driver | None:
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
