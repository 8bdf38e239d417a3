"""Driver releases: which chart, which version, with which values, into which namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.drivers import DRIVERS
from fleet.drivers.spec import Refusal, Release
from fleet.drivers.value_checks import check_values
from fleet.drivers.values import merged, value_at
from fleet.plan.aks_checks import check_aks_values
from fleet.plan.aks_releases import aks_driver_values
from fleet.plan.eks_checks import check_eks_values
from fleet.plan.eks_releases import eks_driver_values
from fleet.plan.gke_checks import check_gke_values
from fleet.plan.gke_releases import gke_driver_values
from fleet.plan.gpu_operator import NAME as OPERATOR
from fleet.plan.gpu_operator import plan_gpu_operator
from fleet.plan.model import NamespacePlan, ReleasePlan
from fleet.settings.aks import AksClusterSettings
from fleet.settings.eks import EksClusterSettings
from fleet.settings.existing import ExistingClusterSettings
from fleet.settings.gke import GkeClusterSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.drivers.spec import DriverSpec
    from fleet.plan.findings import Findings
    from fleet.plan.model import ChartValues, PoolPlan
    from fleet.settings.clusters import ClusterSettings
    from fleet.settings.releases import DriverSettings

_OF_KUBERNETES = "kube-"
PRIVILEGED = {"pod-security.kubernetes.io/enforce": "privileged"}
"""Driver pods mount the host's driver and devices, which no other level of Pod Security admits."""


def plan_releases(
    cluster: str, settings: ClusterSettings, minor: str, pools: Sequence[PoolPlan], findings: Findings
) -> tuple[ReleasePlan, ...]:
    """The releases of a cluster, the GPU Operator first; those that are wrong are left out."""
    planned = [
        _plan_operator(cluster, settings, pools, findings),
        *(
            _plan_release(
                ("clusters", cluster, "drivers", name),
                name,
                driver,
                settings,
                pools,
                minor=minor,
                findings=findings,
            )
            for name, driver in sorted(settings.drivers.items())
        ),
    ]
    return tuple(release for release in planned if release is not None)


def _plan_operator(
    cluster: str, settings: ClusterSettings, pools: Sequence[PoolPlan], findings: Findings
) -> ReleasePlan | None:
    match settings:
        case ExistingClusterSettings() | GkeClusterSettings():
            return None
        case AksClusterSettings():
            if settings.gpu_operator is None:
                return None
            at = ("clusters", cluster, "gpuOperator")
            return plan_gpu_operator(at, settings.gpu_operator, pools, findings)
        case EksClusterSettings():
            if settings.gpu_operator is None:
                return None
            at = ("clusters", cluster, "gpuOperator")
            return plan_gpu_operator(at, settings.gpu_operator, pools, findings, host_runtime="nvidia")


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
    findings: Findings,
) -> ReleasePlan | None:
    spec = DRIVERS.get(name)
    if spec is None:
        findings.unknown(*at, what="is no DRA driver this program knows", got=name, known=list(DRIVERS))
        return None
    version = spec.facts.version(settings.version)
    if version is None:
        known = [entry.version for entry in spec.facts.versions]
        findings.unknown(
            *at,
            "version",
            what=f"is no version of the {name} driver's chart",
            got=settings.version,
            known=known,
        )
        return None
    if not settings.install:
        return None
    release = Release(
        version=version, minor=minor, namespace=settings.namespace or spec.facts.namespace, pools=pools
    )
    refusals = check_values(version, settings.values)
    ours = merged(spec.values(release), _cloud_values(cluster, name, release, settings.values))
    final = merged(ours, settings.values)
    if not refusals:
        refusals += [*_conflicts(spec, release, settings), *spec.guards(release, final)]
    for refusal in refusals:
        _tell(at, refusal, findings)
    planned = ReleasePlan(
        name=version.chart.rpartition("/")[2],
        driver=spec.facts.driver,
        chart=version.chart,
        version=version.version,
        repository=version.repository,
        namespace=release.namespace,
        values=final,
        after=_before(cluster),
    )
    if isinstance(cluster, AksClusterSettings) and name == "nvidia" and not refusals:
        check_aks_values(at, pools, planned, findings)
    if isinstance(cluster, EksClusterSettings) and not refusals:
        check_eks_values(at, pools, planned, findings)
    if isinstance(cluster, GkeClusterSettings) and name in ("nvidia", "tpu") and not refusals:
        check_gke_values(at, pools, planned, findings)
    return planned


def _cloud_values(cluster: ClusterSettings, name: str, release: Release, theirs: ChartValues) -> ChartValues:
    match cluster:
        case ExistingClusterSettings():
            return {}
        case AksClusterSettings():
            return aks_driver_values(name, release, theirs)
        case GkeClusterSettings():
            return gke_driver_values(name, release, theirs)
        case EksClusterSettings():
            discovers = cluster.gpu_operator is not None
            return eks_driver_values(name, release, theirs, discovers_features=discovers)


def _before(cluster: ClusterSettings) -> tuple[str, ...]:
    """The releases that a DRA driver waits for: without a GPU driver it finds no device."""
    installed = (
        isinstance(cluster, AksClusterSettings | EksClusterSettings) and cluster.gpu_operator is not None
    )
    return (OPERATOR,) if installed else ()


def _conflicts(spec: DriverSpec, release: Release, settings: DriverSettings) -> Sequence[Refusal]:
    settled = any(value_at(settings.values, key) is not None for key in spec.settles)
    return () if settled else spec.conflicts(release)


def _tell(at: tuple[str, ...], refusal: Refusal, findings: Findings) -> None:
    where = ("values", refusal.key) if refusal.key else ()
    findings.error(*at, *where, what=refusal.what, got=refusal.got, allowed=refusal.allowed, fix=refusal.fix)
