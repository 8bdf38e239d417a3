"""Makes the plan of a whole stack: settings and facts in, plain values or all errors out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dra_fleet import clouds, drivers
from dra_fleet.clouds.offers import check_own_catalogue
from dra_fleet.core.findings.errors import SettingsInvalid
from dra_fleet.core.findings.refusals import Findings
from dra_fleet.fleet.plan.advertisers import check_stated
from dra_fleet.fleet.plan.budget import check_budget
from dra_fleet.fleet.plan.claims import (
    claim_specs,
    clusters_of,
    clusters_using,
    namespace_labels,
    plan_claims,
)
from dra_fleet.fleet.plan.classes import class_specs, classes_there, plan_classes
from dra_fleet.fleet.plan.described import check_described
from dra_fleet.fleet.plan.queues import check_queues, plan_namespaces, plan_queues, plan_release
from dra_fleet.fleet.plan.releases import driver_namespaces, plan_releases
from dra_fleet.fleet.plan.serving import admitting
from dra_fleet.fleet.plan.workloads import check_references, plan_workloads
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.model.plan import ClusterPlan, FleetPlan, NamespacePlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.fleet.settings import FleetSettings
    from dra_fleet.kubernetes.devices.claim import ClaimSpec
    from dra_fleet.kubernetes.devices.device_class import DeviceClassSpec
    from dra_fleet.model.clusters import ClusterSettings
    from dra_fleet.model.plan import PoolPlan, ReleasePlan

_RESERVED = ("default", "kube-")


def make_plan(settings: FleetSettings) -> FleetPlan:
    """What the stack file comes to, cluster by cluster.

    Raises:
        SettingsInvalid: With everything that only the catalogue or the whole file can tell.
        CatalogueInvalid: The catalogue of one's own is wrong.
    """
    check_own_catalogue()
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
    if findings.errors:
        raise SettingsInvalid(findings.errors)
    return FleetPlan(
        owner=settings.owner,
        environment=settings.environment,
        clusters=tuple(_asked_for(cluster) for cluster in clusters if cluster is not None),
        warnings=tuple(findings.warnings),
    )


@dataclass(frozen=True, kw_only=True)
class _Shared:
    """What is worked out once for all clusters."""

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
        name, minor, settings, shared.claims, names, after=admitting(releases), findings=findings
    )
    domains = tuple(
        domain
        for driver in drivers.known()
        for domain in driver.plan_domains(name, settings, pools, releases, findings)
    )
    queueing = plan_release(name, settings)
    queues = plan_queues(name, settings)
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
        releases=(*releases, *queueing),
        classes=plan_classes(name, minor, settings, shared.classes, findings),
        templates=templates,
        claims=claims,
        workloads=workloads,
        compute_domains=domains,
        queues=queues,
        kubeconfig=cloud.kubeconfig(cluster),
        adopts=cloud.adopts(cluster),
    )


def _asked_for(cluster: ClusterPlan) -> ClusterPlan:
    """The plan of a cluster with what its cloud is asked for, which nothing wrong can come to."""
    own = clouds.named(cluster.cloud).plan_cluster(
        cluster.name, cluster.settings, cluster.kubernetes, cluster.pools
    )
    return replace(cluster, own=own)


def _plan_pools(cluster: str, settings: ClusterSettings, findings: Findings) -> tuple[PoolPlan, ...]:
    """The pools of a cluster in the order of their names; those that are wrong are left out."""
    cloud = clouds.named(settings.cloud)
    planned = [
        cloud.plan_pool(("clusters", cluster, "pools", name), name, settings, findings)
        for name in sorted(settings.pools)
    ]
    found = tuple(pool for pool in planned if pool is not None)
    check_stated(("clusters", cluster, "pools"), settings, found, findings)
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
    """A cluster says whose it is: else whoever is logged in pays for it."""
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
