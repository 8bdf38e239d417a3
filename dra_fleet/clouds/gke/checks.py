"""What is wrong with a GKE cluster as a whole, told before Google is asked for anything.

Sources: https://cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra and
https://pkg.go.dev/k8s.io/gke-autoscaling/cluster-autoscaler (what the autoscaler predicts of empty pools).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.cel import asked
from dra_fleet.clouds.gke.names import zones_of
from dra_fleet.clouds.gke.pool_checks import check_gke_pool, check_zone_counts
from dra_fleet.clouds.gke.pools import allocating, compute_classes_of
from dra_fleet.clouds.gke.releases import CRITICAL
from dra_fleet.drivers.common.host_root import check_root
from dra_fleet.drivers.common.values import value_at
from dra_fleet.findings.errors import choices
from dra_fleet.settings.classes import CelClass, IntentClass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dra_fleet.cel.intent import Asked
    from dra_fleet.clouds.gke.settings import GkeClusterSettings
    from dra_fleet.drivers import Driver
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import PoolPlan, ReleasePlan
    from dra_fleet.settings.classes import ClassSettings
    from dra_fleet.settings.fleet import FleetSettings

_INTENTS = ("memory", "product", "profile", "compute_capability", "multiprocessors")
_CEL: Mapping[str, Callable[[Asked], object]] = {
    "memory": lambda asks: asks.reads("memory"),
    "driverVersion": lambda asks: asks.reads("driverVersion"),
    "cudaComputeCapability": lambda asks: asks.reads("cudaComputeCapability"),
    "an exact productName": lambda asks: asks.texts("productName"),
    "MIG partitions": lambda asks: "mig" in asks.texts("type") or asks.reads("profile"),
}
"""What a selector may ask that the autoscaler does not predict, by its name."""


def check_gke(
    name: str,
    fleet: FleetSettings,
    settings: GkeClusterSettings,
    minor: str,
    pools: Sequence[PoolPlan],
    *,
    findings: Findings,
) -> None:
    """Check a cluster and its pools, apart from the releases' final values."""
    at = ("clusters", name)
    if settings.mode == "Autopilot" and settings.drivers:
        findings.error(
            *at,
            "mode",
            what="has no DRA for GPUs: Autopilot makes its own nodes and installs its own device plugin",
            got="Autopilot",
            allowed="Standard",
            fix="set mode: Standard",
        )
    _check_version(at, settings, minor, findings)
    _check_compute_classes(at, settings, findings)
    if settings.create is not None:
        system = settings.system_pool
        count = zones_of(system.zones, settings.location)
        check_zone_counts((*at, "systemPool"), count, system.nodes.min, system.nodes.max, findings)
    for pool in pools:
        check_gke_pool((*at, "pools", pool.name), pool, settings, findings)
    _check_empty_pools(at, fleet, settings, pools, findings)
    _check_arm_workloads(name, fleet, pools, findings)


def check_gke_values(
    at: tuple[str, ...], driver: Driver, pools: Sequence[PoolPlan], release: ReleasePlan, findings: Findings
) -> None:
    """Check a DRA driver's final values against what GKE admits and where its pools' GPU driver lies."""
    for key in driver.priority_keys(release.values, driver.facts.version(release.version)):
        wanted = value_at(release.values, key, default=CRITICAL[0])
        if wanted in CRITICAL and release.namespace != "kube-system":
            findings.error(
                *at,
                "values",
                key,
                what=f"is not admitted in namespace {release.namespace}: GKE takes critical pods only where "
                "a ResourceQuota allows them, and there is none",
                got=str(wanted),
                allowed="an empty text, or a priority class of your own",
                fix=f"remove {key} from values",
            )
    fix = "remove it from values; it follows from the pools' image"
    check_root(at, driver, pools, release.values, findings, fix=fix)


def _check_version(at: tuple[str, ...], settings: GkeClusterSettings, minor: str, findings: Findings) -> None:
    if settings.version is not None and not settings.version.startswith(f"{minor}."):
        findings.error(
            *at,
            "version",
            what=f"is no version of Kubernetes {minor}, which the cluster is declared to run",
            got=settings.version,
            allowed=f"{minor}.<patch>-gke.<build>",
            fix="change version or kubernetes, or remove version",
        )


def _check_compute_classes(at: tuple[str, ...], settings: GkeClusterSettings, findings: Findings) -> None:
    names = sorted(settings.pools)
    for name, compute_class in sorted(settings.compute_classes.items()):
        for index, pool in enumerate(compute_class.priorities):
            if pool not in settings.pools:
                findings.error(
                    *at,
                    "computeClasses",
                    name,
                    "priorities",
                    index,
                    what="is no pool of this cluster",
                    got=pool,
                    allowed=choices(pool, names),
                )
    for pool in names:
        classes = compute_classes_of(pool, settings)
        if len(classes) > 1:
            findings.error(
                *at,
                "pools",
                pool,
                what="is in more than one ComputeClass, and its nodes can carry the label of one only",
                got=", ".join(classes),
                fix=f"leave {pool} out of the priorities of {', '.join(classes[1:])}",
            )


def _check_empty_pools(
    at: tuple[str, ...],
    fleet: FleetSettings,
    settings: GkeClusterSettings,
    pools: Sequence[PoolPlan],
    findings: Findings,
) -> None:
    """Say which classes never make the autoscaler add the first node of a pool."""
    without = [pool for pool in pools if pool.min_nodes < 1 and pool.machine.gpus]
    served = {name for pool in without for name in allocating(pool.machine, settings)}
    if not served:
        return
    empty = [pool.name for pool in without]
    for name, wanted in sorted(fleet.classes.items()):
        more = _unpredicted(wanted, served)
        if more:
            findings.warnings.append(
                f"cluster {at[1]}: class {name} asks for {', '.join(more)}, which GKE's autoscaler does not "
                f"predict of a pool without nodes: it adds no first node to {', '.join(empty)} for it; set "
                "nodes: {min: 1}, or ask for the architecture"
            )


def _unpredicted(wanted: ClassSettings, served: Collection[str]) -> list[str]:
    match wanted:
        case CelClass():
            asks = [asked(expression) for expression in wanted.cel]
            return [name for name, is_asked in _CEL.items() if any(map(is_asked, asks))]
        case IntentClass():
            if wanted.driver not in served:
                return []
            wants = [name for name in _INTENTS if getattr(wanted, name) is not None]
            words = {"compute_capability": "computeCapability"}
            return [words.get(name, name) for name in wants] + (["type mig"] if wanted.type == "mig" else [])


def _check_arm_workloads(
    cluster: str, fleet: FleetSettings, pools: Sequence[PoolPlan], findings: Findings
) -> None:
    """Tolerations that a workload names itself must let it onto arm64 nodes, if there are no others."""
    gpus = [pool for pool in pools if pool.machine.gpus]
    if not gpus or any(pool.machine.arch != "arm64" for pool in gpus):
        return
    for name, workload in sorted(fleet.workloads.items()):
        if workload.cluster != cluster or workload.tolerations is None:
            continue
        if not any(item.key in (None, "kubernetes.io/arch") for item in workload.tolerations):
            findings.warnings.append(
                f"workload {name}: tolerates no kubernetes.io/arch=arm64, the taint that GKE puts on the "
                f"nodes of {', '.join(pool.name for pool in gpus)}; add the toleration, or leave tolerations "
                "out"
            )
