"""Driver releases: which chart, which version, with which values, into which namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import clouds, drivers
from dra_fleet.drivers.base import Release
from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.drivers.common.values import merged, value_at
from dra_fleet.drivers.unserved import unserved
from dra_fleet.fleet.plan import advertisers
from dra_fleet.model.plan import NamespacePlan, ReleasePlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.core.findings.refusal import Refusal
    from dra_fleet.core.findings.refusals import Findings
    from dra_fleet.drivers import Driver
    from dra_fleet.model.clusters import ClusterSettings
    from dra_fleet.model.plan import PoolPlan
    from dra_fleet.model.releases import DriverSettings

_OF_KUBERNETES = "kube-"
PRIVILEGED = {"pod-security.kubernetes.io/enforce": "privileged"}
"""Driver pods mount the host's driver and devices, which no other level of Pod Security admits."""


def plan_releases(
    cluster: str, settings: ClusterSettings, minor: str, pools: Sequence[PoolPlan], findings: Findings
) -> tuple[ReleasePlan, ...]:
    """The releases of a cluster, operators first; those that are wrong are left out."""
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
    """The namespaces that the releases go into, but for those that every cluster has."""
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
        _tell_unknown(at, name, findings)
        return None
    version = driver.facts.judged_version(settings.version)
    if version is None:
        known = [entry.version for entry in driver.facts.versions]
        findings.unknown(
            *at,
            "version",
            what=f"is no version of the {name} driver's chart",
            got=settings.version,
            known=known,
        )
        return None
    if version.judged_by:
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
    ours = merged(driver.values(release), cloud.driver_values(driver, release, cluster, theirs))
    final = merged(advertisers.kept_away(driver, ours, left), settings.values)
    if not refusals:
        refusals += [*_conflicts(driver, release, settings), *driver.guards(release, final)]
        refusals += advertisers.refusals(driver, version, final, served, left)
    for refusal in refusals:
        _tell(at, refusal, findings, judged_by=version.judged_by)
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


def _tell_unknown(at: tuple[str, ...], name: str, findings: Findings) -> None:
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
    findings.unknown(
        *at,
        what="is no DRA driver this program knows",
        got=name,
        known=drivers.names(),
        fix="describe it: described: {publishes: NAME, chart: CHART}",
    )


def _conflicts(driver: Driver, release: Release, settings: DriverSettings) -> Sequence[Refusal]:
    settled = any(value_at(settings.values, key) is not None for key in driver.settles)
    return () if settled else driver.conflicts(release)


def _tell(at: tuple[str, ...], refusal: Refusal, findings: Findings, *, judged_by: str) -> None:
    place = (*at, *(("values",) if refusal.path else ()))
    if judged_by:
        findings.doubt(*place, *filter(None, (refusal.path,)), what=f"{judged_by} refuses it: {refusal.what}")
    else:
        findings.refuse(refusal, *place)
