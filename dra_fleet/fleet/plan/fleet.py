"""Makes the plan of a whole stack: settings and facts in, plain values or all errors out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet import clouds, drivers
from dra_fleet.clouds.offers import check_own_catalogue
from dra_fleet.core.findings.errors import Findings, SettingsInvalid
from dra_fleet.drivers.base import Release
from dra_fleet.drivers.common.predicting import type_of
from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.drivers.common.values import merged, value_at
from dra_fleet.drivers.operators import unserved
from dra_fleet.fleet.plan import advertisers
from dra_fleet.fleet.plan.additions import plan_additions
from dra_fleet.fleet.plan.advertisers import check_managed, check_stated, with_managed
from dra_fleet.fleet.plan.claims import (
    claim_specs,
    class_specs,
    classes_there,
    clusters_of,
    clusters_using,
    managed_in,
    namespace_labels,
    plan_claims,
    plan_classes,
)
from dra_fleet.fleet.plan.queues import check_queues, plan_namespaces, plan_queues, plan_release
from dra_fleet.fleet.plan.workloads import check_gangs, check_references, plan_workloads
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.model.plan import ClusterPlan, FleetPlan, NamespacePlan, ReleasePlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.core.findings.errors import Refusal
    from dra_fleet.drivers import Driver
    from dra_fleet.fleet.settings import FleetSettings
    from dra_fleet.kubernetes.devices.claim import ClaimSpec
    from dra_fleet.kubernetes.devices.device_class import DeviceClassSpec
    from dra_fleet.model.fleet import ClusterSettings, PoolView
    from dra_fleet.model.plan import PoolPlan
    from dra_fleet.model.settings import DescribedDevices, DriverSettings


MOST_ENTRIES: Final = 32
"""Attributes and capacities of one device:
https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-slice-v1/."""

_OF_KUBERNETES = "kube-"

PRIVILEGED = {"pod-security.kubernetes.io/enforce": "privileged"}
"""Driver pods mount the host's driver and devices, which no other level of Pod Security admits."""

_RESERVED = ("default", "kube-")


def make_plan(settings: FleetSettings, *, any_version: bool = False) -> FleetPlan:
    """Return the plan of a stack file.

    Args:
        settings: The settings of the fleet.
        any_version: Only warn about a Kubernetes version that a cloud does not offer.

    Raises:
        SettingsInvalid: With all errors that need the catalogue or the whole file.
        CatalogueInvalid: The custom catalogue is invalid.
    """
    check_own_catalogue()
    settings = settings.with_demand()
    findings = Findings()
    used, there = clusters_using(settings), classes_there(settings)
    check_references(settings, there, findings)
    for driver in drivers.known():
        driver.check_fleet(settings, findings)
    _check_namespace(settings, findings)
    check_queues(settings, findings)
    shared = _Shared(
        classes=class_specs(settings, findings), claims=claim_specs(settings, findings), placed={}
    )
    for name in shared.claims:
        shared.placed[name] = clusters_of(name, used, settings, there, findings)
    clusters = [_plan_cluster(name, settings, shared, findings) for name in sorted(settings.clusters)]
    check_budget(settings, (cluster for cluster in clusters if cluster is not None), findings)
    if any_version:
        findings.allow(r"\.clusters\.[^.]+\.kubernetes$")
    if findings.errors:
        raise SettingsInvalid(findings.errors)
    return FleetPlan(
        owner=settings.owner,
        environment=settings.environment,
        clusters=tuple(cluster for cluster in clusters if cluster is not None),
        warnings=tuple(findings.warnings),
    )


class _Shared(Struct, frozen=True, kw_only=True):
    """Values that all clusters share."""

    classes: Mapping[str, DeviceClassSpec]
    claims: Mapping[str, ClaimSpec]
    placed: dict[str, frozenset[str]]


def _plan_cluster(
    name: str, settings: FleetSettings, shared: _Shared, findings: Findings
) -> ClusterPlan | None:
    cluster = settings.clusters[name]
    minor = cluster.kubernetes or settings.kubernetes
    if minor is None:
        findings.error(
            "clusters",
            name,
            "kubernetes",
            what="is required, here or for the whole fleet",
            allowed=", ".join(f'"{entry.minor}"' for entry in kubernetes_facts().minors),
            fix=f'add kubernetes: "{kubernetes_facts().example}"',
        )
        return None
    _warn_end_of_life(name, minor, findings)
    pools = _plan_pools(name, cluster, findings)
    check_described(name, cluster, findings)
    cloud = clouds.named(cluster.cloud)
    _check_account(name, settings, findings)
    cloud.check(name, settings, cluster, minor, pools, findings=findings)
    for driver in drivers.known():
        driver.check_cluster(name, settings, pools, findings)
    releases = plan_releases(name, cluster, minor, pools, findings)
    names = [claim for claim, clusters in shared.placed.items() if name in clusters]
    templates, claims = plan_claims(
        name, minor, settings, shared.claims, names, releases=releases, findings=findings
    )
    domains = tuple(
        domain
        for driver in drivers.known()
        for domain in driver.plan_domains(name, settings, pools, releases, findings)
    )
    queueing = plan_release(name, settings)
    queues = plan_queues(name, settings)
    check_gangs(name, minor, settings, findings)
    workloads = plan_workloads(
        name, settings, pools, (*releases, *queueing), domains=domains, findings=findings
    )
    uses_namespace = bool(templates or claims or workloads or domains or queues)
    return ClusterPlan(
        name=name,
        cloud=cluster.cloud,
        kubernetes=minor,
        settings=cluster,
        pools=pools,
        namespaces=(
            *(
                _namespaces(name, settings, releases, [shared.claims[claim] for claim in names], findings)
                if uses_namespace
                else driver_namespaces(releases)
            ),
            *plan_namespaces(queueing),
        ),
        releases=(*releases, *queueing, *cloud.releases(name, cluster)),
        classes=plan_classes(name, minor, settings, shared.classes, findings),
        templates=templates,
        claims=claims,
        workloads=tuple(item for item in workloads if item.runs),
        demand=tuple(item for item in workloads if not item.runs),
        compute_domains=domains,
        queues=queues,
        kubeconfig=cloud.kubeconfig(cluster),
        adopts=cloud.adopts(cluster),
        additions=plan_additions(name, settings, findings),
    )


def _plan_pools(cluster: str, settings: ClusterSettings, findings: Findings) -> tuple[PoolPlan, ...]:
    """Return the pools of a cluster in the order of their names, without invalid ones."""
    cloud = clouds.named(settings.cloud)
    planned = [
        cloud.plan_pool(("clusters", cluster, "pools", name), name, settings, findings)
        for name in sorted(settings.pools)
    ]
    found = tuple(
        with_managed(pool, cloud.managed_on(pool.name, settings)) for pool in planned if pool is not None
    )
    at = ("clusters", cluster, "pools")
    check_stated(at, settings, found, findings)
    check_managed(at, settings, found, findings)
    return found


def _namespaces(
    cluster: str,
    settings: FleetSettings,
    releases: tuple[ReleasePlan, ...],
    claims: list[ClaimSpec],
    findings: Findings,
) -> tuple[NamespacePlan, ...]:
    drivers = driver_namespaces(releases)
    if any(namespace.name == settings.namespace for namespace in drivers):
        findings.error(
            "namespace",
            what=f"is also the namespace of a driver on cluster {cluster}, where pods may be privileged",
            got=settings.namespace,
            fix="choose another namespace for claims and workloads",
        )
    labels = namespace_labels(claims)
    if labels:
        findings.warnings.append(
            f"cluster {cluster}: namespace {settings.namespace} is labelled for admin access, so that every "
            "claim in it may ask for devices that others use"
        )
    return (*drivers, NamespacePlan(name=settings.namespace, labels=labels))


def _check_namespace(settings: FleetSettings, findings: Findings) -> None:
    if settings.namespace == _RESERVED[0] or settings.namespace.startswith(_RESERVED[1]):
        findings.error(
            "namespace",
            what="exists in every cluster and cannot be owned by a stack",
            got=settings.namespace,
            fix="choose a name of your own, for example gpu-workloads",
        )


def _check_account(cluster: str, settings: FleetSettings, findings: Findings) -> None:
    """Check that a cluster names its account; otherwise the current login would pay for it."""
    own = settings.clusters[cluster]
    key, account = clouds.named(own.cloud).account(own) or ("", "")
    if account is not None:
        return
    findings.warnings.append(
        f"cluster {cluster}: it names no {key}, and is made in the login's; "
        f"fix: add {key}: …, so that another login makes nothing"
    )


def _warn_end_of_life(cluster: str, minor: str, findings: Findings) -> None:
    facts = kubernetes_facts()
    entry = facts.minor(minor)
    # Compared with the date of the facts, not with a clock: the same file always gives the same plan.
    if entry is not None and entry.end_of_life <= facts.date:
        findings.warnings.append(
            f"cluster {cluster}: Kubernetes {minor} has had no upstream fixes since {entry.end_of_life}; "
            f"at least run patch {entry.patch_floor}, and plan the upgrade"
        )


# The cost of a fleet's machines at the maximum of its pools, compared with its budget.
#
# Counted is what reviews count: list prices on demand, as the clouds' facts have them, of the machines that
# the stack makes. Control planes, system pools, disks and traffic are not in it, nor are discounts.


def check_budget(settings: FleetSettings, clusters: Iterable[ClusterPlan], findings: Findings) -> None:
    """Reject a fleet that may cost more than its budget, in production also one with an unknown price."""
    if settings.budget is None:
        return
    allowed = settings.budget.per_hour
    costs: dict[str, float] = {}
    for cluster in clusters:
        for pool in cluster.pools if clouds.named(cluster.cloud).makes_nodes else ():
            name = f"{pool.max_nodes} x {pool.machine.name} in pool {pool.name} of cluster {cluster.name}"
            if pool.machine.price is not None:
                costs[name] = pool.max_nodes * pool.machine.price.per_hour
            elif pool.max_nodes and settings.environment == "production":
                findings.error(
                    "budget",
                    what=f"cannot be checked: {name} have no known price",
                    got=pool.machine.name,
                    fix="add its price to catalogue.yaml, or remove the budget",
                )
            elif pool.max_nodes:
                findings.warnings.append(f"budget: {name} are not counted: no price of that machine is known")
    total = round(sum(costs.values()), 2)
    if total > allowed:
        dearest = max(costs, key=lambda name: costs[name])
        findings.error(
            "budget",
            "perHour",
            what=f"is less than the fleet costs at its maximum, {total:.2f} USD per hour",
            got=f"{allowed:g}",
            allowed=f"at least {total:.2f}",
            fix=f"lower nodes.max, of {dearest} first ({costs[dearest]:.2f} USD), or raise the budget",
        )


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
                what=f"is the name under which the known driver {known.name} publishes",
                got=driver.described.publishes,
                fix=f"write {known.name} in its place",
            )
    for name, pool in sorted(settings.pools.items()):
        _check_devices(("clusters", cluster, "pools", name, "devices"), settings, publishing, pool, findings)


def _check_devices(
    at: tuple[str, ...], cluster: ClusterSettings, publishing: list[str], pool: PoolView, findings: Findings
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
    managed = {one.driver for one in managed_in(cluster)}
    if cluster.drivers and driver.name not in managed.union(cluster.drivers):
        what = f"is published by driver {driver.name}, which the cluster has not"
        findings.error(*at, "driver", what=what, got=item.driver, fix=f"add {driver.name} to its drivers")
        return
    facts = driver.facts
    settings = cluster.drivers.get(driver.name)
    version = facts.checked_version(settings.version) if settings is not None else None
    published = facts.attributes_in((version or facts.versions[-1]).version)
    types = {one.name: one.type for one in facts.attributes if one.name in published}
    own = f"{item.driver}/"
    for key, value in item.attributes.items():
        name = key.removeprefix(own)
        if name not in types:
            what = f"is not an attribute that driver {driver.name} publishes"
            findings.unknown(*at, "attributes", what=what, got=name, known=sorted(types))
        elif type_of(value) != types[name]:
            what = f"is published as {types[name]}"
            findings.error(*at, "attributes", key, what=what, got=type_of(value))
    capacities = {one.name for one in facts.capacities}
    for name in sorted({key.removeprefix(own) for key in item.capacity} - capacities):
        what = f"is not a capacity that driver {driver.name} publishes"
        findings.unknown(*at, "capacity", what=what, got=name, known=sorted(capacities))


def plan_releases(
    cluster: str, settings: ClusterSettings, minor: str, pools: Sequence[PoolPlan], findings: Findings
) -> tuple[ReleasePlan, ...]:
    """Return the releases of a cluster, operators first, without invalid ones."""
    operators = _plan_operators(cluster, settings, pools, findings)
    # Without a GPU driver a DRA driver finds no device.
    before = tuple(operator.name for operator in operators)
    planned = [
        *operators,
        *(
            _plan_release(
                ("clusters", cluster, "drivers", name),
                name,
                driver,
                settings,
                pools,
                minor=minor,
                after=before,
                findings=findings,
            )
            for name, driver in sorted(settings.drivers.items())
        ),
    ]
    return tuple(release for release in planned if release is not None)


def _plan_operators(
    cluster: str, settings: ClusterSettings, pools: Sequence[PoolPlan], findings: Findings
) -> list[ReleasePlan]:
    cloud = clouds.named(settings.cloud)
    asked = cloud.operators(settings)
    planned = [
        driver.plan_operator(
            ("clusters", cluster, driver.operator), asked[driver.operator], pools, cloud.host_driver, findings
        )
        for driver in (drivers.known() if asked else ())
        if driver.operator in asked
    ]
    return [release for release in planned if release is not None]


def driver_namespaces(releases: Sequence[ReleasePlan]) -> tuple[NamespacePlan, ...]:
    """Return the releases' namespaces, except those that every cluster has."""
    return tuple(
        NamespacePlan(name=name, labels=PRIVILEGED)
        for name in sorted({release.namespace for release in releases})
        if not name.startswith(_OF_KUBERNETES)
    )


def _plan_release(
    at: tuple[str, ...],
    name: str,
    settings: DriverSettings,
    cluster: ClusterSettings,
    pools: Sequence[PoolPlan],
    *,
    minor: str,
    after: tuple[str, ...],
    findings: Findings,
) -> ReleasePlan | None:
    driver = drivers.asked_for(name, settings)
    if driver is None:
        _report_unknown(at, name, findings)
        return None
    version = driver.facts.checked_version(settings.version)
    if version is None:
        known = [entry.version for entry in driver.facts.versions]
        findings.unknown(
            *at,
            "version",
            what=f"is not a version of the {name} driver's chart",
            got=settings.version,
            known=known,
        )
        return None
    if version.checked_by:
        findings.doubt(*at, "version", what=f"{version.version} {version.unjudged}")
    if not settings.install:
        return None
    cloud = clouds.named(cluster.cloud)
    served, left = advertisers.by_advertiser(driver, pools)
    release = Release(
        version=version, minor=minor, namespace=settings.namespace or driver.facts.namespace, pools=served
    )
    refusals = check_values(version, settings.values) if settings.described is None else []
    theirs = merged(advertisers.switches(driver, served), settings.values)
    mine = merged(driver.values(release), cloud.driver_values(driver, release, cluster, theirs))
    final = merged(advertisers.kept_away(driver, mine, left), settings.values)
    if not refusals:
        refusals += [*_conflicts(driver, release, settings), *driver.guards(release, final)]
        refusals += advertisers.refusals(driver, version, final, served, left)
    for refusal in refusals:
        _report(at, refusal, findings, checked_by=version.checked_by)
    planned = ReleasePlan(
        name=version.chart.rpartition("/")[2],
        driver=driver.facts.driver,
        chart=version.chart,
        version=version.version,
        repository=version.repository,
        namespace=release.namespace,
        values=final,
        after=after,
    )
    if not refusals:
        cloud.check_values(at, driver, served, planned, findings)
    return planned


def _report_unknown(at: tuple[str, ...], name: str, findings: Findings) -> None:
    published = unserved().get(name)
    if published is not None:
        findings.error(
            *at,
            what=f"is a DRA driver that this program does not serve by itself: {published.why}",
            got=name,
            fix=f"describe it: {published.description}, and its devices: devices: [{{driver: "
            f"{published.publishes}, …}}] of pools",
        )
        return
    known = drivers.publishing(name)
    findings.unknown(
        *at,
        what="is not a known DRA driver",
        got=name,
        known=drivers.names(),
        fix=f"did you mean {known.name}?"
        if known
        else "describe it: described: {publishes: NAME, chart: CHART}",
    )


def _conflicts(driver: Driver, release: Release, settings: DriverSettings) -> Sequence[Refusal]:
    settled = any(value_at(settings.values, key) is not None for key in driver.settles)
    return () if settled else driver.conflicts(release)


def _report(at: tuple[str, ...], refusal: Refusal, findings: Findings, *, checked_by: str) -> None:
    place = (*at, *(("values",) if refusal.path else ()))
    if checked_by:
        findings.doubt(
            *place, *filter(None, (refusal.path,)), what=f"{checked_by} refuses it: {refusal.what}"
        )
    else:
        findings.refuse(refusal, *place)
