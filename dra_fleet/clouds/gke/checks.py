"""Checks of a GKE cluster and its node pools before Google Cloud is asked for them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dra_fleet.clouds.common.machines import is_divided
from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.clouds.gke.plan import (
    CRITICAL,
    allocates,
    allocating,
    compute_classes_of,
    fitting_installer,
    is_zone,
    region_of,
    zones_of,
)
from dra_fleet.clouds.gke.resources import chips_of
from dra_fleet.core.findings.errors import choices
from dra_fleet.drivers.common.placement import check_root
from dra_fleet.drivers.common.values import value_at
from dra_fleet.kubernetes.cel import asked
from dra_fleet.model.classes import CelClass, IntentClass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dra_fleet.clouds.gke.settings import GkeClusterSettings, GkePoolSettings
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers import Driver
    from dra_fleet.kubernetes.cel.intent import Asked
    from dra_fleet.model.classes import ClassSettings
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.plan import PoolPlan, ReleasePlan


At = tuple[str, ...]
_COMPACT_WITH_FLEX = ("a3-ultragpu", "a4", "h4d")


def check_gke_capacity(at: At, plan: PoolPlan, pool: GkePoolSettings, findings: Findings) -> None:
    """Spot, reservations, Dynamic Workload Scheduler and compact placement exclude each other in part."""
    kinds = {"spot": pool.spot, "flexStart": pool.flex_start, "queued": pool.queued}
    chosen = [key for key, on in kinds.items() if on]
    reservation = pool.reservation
    if chosen and reservation is not None and reservation.consume != "NO_RESERVATION":
        findings.error(
            *at,
            "reservation",
            "consume",
            what=f"cannot be combined with {', '.join(chosen)}",
            got=reservation.consume,
            allowed="NO_RESERVATION",
            fix=f"remove reservation, or {chosen[0]}",
        )
    if pool.spot and len(chosen) > 1:
        findings.error(
            *at,
            "spot",
            what=f"cannot be combined with {', '.join(chosen[1:])}",
            got="true",
            fix=f"remove spot, or {chosen[1]}",
        )
    if pool.flex_start:
        _check_flex_start(at, plan, pool, findings)
    if pool.queued and plan.min_nodes > 0:
        findings.error(
            *at,
            "nodes",
            "min",
            what="must be 0 with queued: nodes come with a request and go with it",
            got=str(plan.min_nodes),
            allowed="0",
            fix="set nodes: {min: 0, …}",
        )
    _check_compact(at, plan, pool, findings)
    _check_slice(at, plan, pool, findings)


def _check_flex_start(at: At, plan: PoolPlan, pool: GkePoolSettings, findings: Findings) -> None:
    if pool.auto_repair:
        findings.error(
            *at,
            "autoRepair",
            what="must be false with flexStart: a repaired node would give its capacity back",
            got="true",
            allowed="false",
            fix="set autoRepair: false",
        )
    if plan.min_nodes == plan.max_nodes:
        findings.error(
            *at,
            "nodes",
            what="must not be a fixed number with flexStart: nodes are created when there is capacity",
            got=str(plan.max_nodes),
            fix="let nodes.max be larger than nodes.min",
        )


def _check_compact(at: At, plan: PoolPlan, pool: GkePoolSettings, findings: Findings) -> None:
    placement = pool.placement
    if placement is None or not placement.compact:
        return
    at = (*at, "placement", "compact")
    if pool.flex_start and not plan.machine.name.startswith(_COMPACT_WITH_FLEX):
        findings.error(
            *at,
            what=f"cannot be combined with flexStart on {plan.machine.name}",
            got="true",
            allowed="with a3-ultragpu, a4 and h4d machines",
            fix="remove placement, or flexStart",
        )
    if pool.queued and chips_of(plan.machine) is None:
        findings.error(
            *at, what="cannot be combined with queued", got="true", fix="remove placement, or queued"
        )
    if len(pool.zones) > 1:
        findings.error(
            *at,
            what="needs nodes in one zone",
            got=f"true with zones {', '.join(pool.zones)}",
            fix="name exactly one zone",
        )
    if pool.upgrade.strategy == "BLUE_GREEN":
        findings.error(
            *at,
            what="cannot be combined with upgrade strategy BLUE_GREEN",
            got="true",
            fix="set upgrade: {strategy: SURGE}",
        )


def _check_slice(at: At, plan: PoolPlan, pool: GkePoolSettings, findings: Findings) -> None:
    """Check that a topology's TPU slice is the whole pool, which is created and deleted as a whole."""
    topology = None if pool.placement is None else pool.placement.topology
    if topology is None:
        return
    at = (*at, "placement", "topology")
    chips = chips_of(plan.machine)
    if chips is None:
        findings.error(
            *at,
            what=f"is that of a TPU slice, and {plan.machine.name} has no TPU",
            got=topology,
            fix="remove topology",
        )
        return
    nodes, rest = divmod(math.prod(int(part) for part in topology.split("x")), chips.count)
    if nodes == 1 and not rest:
        return
    if rest or plan.min_nodes != nodes or plan.max_nodes != nodes:
        exact = f"nodes: {{min: {nodes}, max: {nodes}}}"
        findings.error(
            *at,
            what=f"makes the pool one slice of whole nodes with {chips.count} chips each, "
            "which come together",
            got=f"{topology} with nodes: {{min: {plan.min_nodes}, max: {plan.max_nodes}}}",
            allowed=f"a topology of {plan.max_nodes * chips.count} chips" if rest else exact,
            fix="change topology or nodes" if rest else f"set {exact}",
        )


def check_gke_pool(at: At, plan: PoolPlan, settings: GkeClusterSettings, findings: Findings) -> None:
    """Check one pool by itself and against its cluster."""
    pool = settings.pools[plan.name]
    _check_zones(at, plan, pool, settings, findings)
    check_gke_capacity(at, plan, pool, findings)
    _check_upgrade(at, pool, settings, findings)
    if pool.dranet:
        _check_dranet(at, plan, pool, settings, findings)
    if chips_of(plan.machine) is not None:
        _check_floor(at, "machine", "tpu", plan.machine.name, settings, findings=findings)
    if plan.machine.gpus:
        _check_driver(at, plan, pool, settings, findings)
        if allocates(plan.machine, pool, settings):
            _check_advertisers(at, plan, pool, findings)
            _check_scale_from_zero(at, plan, pool, findings)


def _check_driver(
    at: At, plan: PoolPlan, pool: GkePoolSettings, settings: GkeClusterSettings, findings: Findings
) -> None:
    allowed = "installer, external"
    if pool.gpu_driver is None:
        findings.error(
            *at,
            "gpuDriver",
            what="is left to GKE's own default, which is to install a driver by its device plugin",
            got="null",
            allowed=f"{allowed}, gke",
            fix="set gpuDriver: installer",
        )
    elif pool.gpu_driver == "gke" and allocates(plan.machine, pool, settings):
        findings.error(
            *at,
            "gpuDriver",
            what="leaves the nodes without a GPU driver: GKE's device plugin finishes the installation, and "
            "it is turned off on pools whose devices are allocated by DRA",
            got="gke",
            allowed=allowed,
            fix="set gpuDriver: installer",
        )
    elif pool.gpu_driver == "installer":
        _check_installer(at, plan, pool, findings)


def _check_installer(at: At, plan: PoolPlan, pool: GkePoolSettings, findings: Findings) -> None:
    fitting = fitting_installer(plan.machine, pool.image)
    if fitting is None:
        findings.error(
            *at,
            "image",
            what=f"has no driver installer for {plan.machine.name}",
            got=pool.image,
            allowed="COS_CONTAINERD",
            fix="set image: COS_CONTAINERD, or gpuDriver: external if someone else installs the driver",
        )
        return
    if pool.driver_installer is None or pool.driver_installer == fitting:
        return
    chosen = gke_facts().installer(pool.driver_installer)
    arch = plan.machine.arch or "amd64"
    if chosen.image == pool.image and chosen.arch != arch:
        findings.warnings.append(
            f"cluster {at[1]}: driver installer {chosen.name} of pool {plan.name} is made for {chosen.arch}, "
            f"its nodes are {arch}; remove driverInstaller, so that {fitting} is used"
        )
        return
    findings.error(
        *at,
        "driverInstaller",
        what=f"is not made for {plan.machine.name} with {pool.image}",
        got=chosen.name,
        allowed=fitting,
        fix="remove driverInstaller",
    )


def _check_advertisers(at: At, plan: PoolPlan, pool: GkePoolSettings, findings: Findings) -> None:
    """Node-level sharing is the device plugin's, and one GPU may have one advertiser."""
    if is_divided(plan) and pool.gpu_driver != "external":
        findings.error(
            *at,
            "sharing",
            what="requests MIG partitions that nothing makes: the GPU Operator installs nothing on GKE's "
            "node images, and GKE's own partitions come with its device plugin",
            got="mig",
            allowed="whole GPUs, g4-standard-6, g4-standard-12 and g4-standard-24 for parts",
            fix="remove sharing, or set gpuDriver: external if your DaemonSet makes driver and partitions",
        )
    if pool.gpu_sharing is not None:
        findings.error(
            *at,
            "gpuSharing",
            what="is sharing by GKE's device plugin, never together with DRA on one pool",
            got=pool.gpu_sharing.strategy,
            fix="remove it; claims share a GPU by their own configuration",
        )
    if pool.gpu_partition_size is not None:
        findings.error(
            *at,
            "gpuPartitionSize",
            what="makes partitions that GKE's device plugin advertises, never together with DRA on one pool",
            got=pool.gpu_partition_size,
            fix="remove it",
        )


def _check_scale_from_zero(at: At, plan: PoolPlan, pool: GkePoolSettings, findings: Findings) -> None:
    if plan.min_nodes > 0:
        return
    fix = "set nodes: {min: 1, …}"
    if pool.queued:
        # A queued pool begins without nodes, so it is queued that has to go.
        fix = f"remove queued, and {fix}"
    facts = gke_facts().scale_from_zero
    if facts.accelerator(plan.machine.accelerator) is None:
        findings.error(
            *at,
            "nodes",
            "min",
            what=f"must be at least 1: GKE's autoscaler does not know which devices a node with "
            f"{plan.machine.accelerator} would have",
            got="0",
            allowed=f"1 or more; 0 with {', '.join(entry.name for entry in facts.accelerators)}",
            fix=fix,
        )
    elif is_divided(plan):
        findings.error(
            *at,
            "nodes",
            "min",
            what="must be at least 1: GKE's autoscaler expects whole GPUs of a new node, no MIG partitions",
            got="0",
            allowed="1 or more",
            fix=fix,
        )


def _check_zones(
    at: At, plan: PoolPlan, pool: GkePoolSettings, settings: GkeClusterSettings, findings: Findings
) -> None:
    region = region_of(settings.location)
    for index, zone in enumerate(pool.zones):
        if region_of(zone) != region:
            findings.error(
                *at,
                "zones",
                index,
                what=f"is not in the cluster's region {region}",
                got=zone,
                allowed=f"{region}-a, {region}-b and so on",
            )
    has_devices = plan.machine.gpus or chips_of(plan.machine)
    if has_devices and not pool.zones and not is_zone(settings.location):
        findings.error(
            *at,
            "zones",
            what=f"is required in a regional cluster: few zones of {region} have {plan.machine.name}",
            allowed="zones of the region that have the machine",
            fix=f"add zones: [{region}-a], as `gcloud compute machine-types list` reports",
        )
        return
    check_zone_counts(at, zones_of(pool.zones, settings.location), plan.min_nodes, plan.max_nodes, findings)


def check_zone_counts(at: At, zones: int, least: int, most: int, findings: Findings) -> None:
    """Check numbers of nodes that count over all zones: GKE makes as many in each."""
    if least == most and most % zones:
        findings.error(
            *at,
            "nodes",
            what=f"of a fixed number must be a multiple of its {zones} zones: every zone gets as many",
            got=str(most),
            fix="change nodes or zones, or let nodes.max be larger than nodes.min",
        )
    elif -(-least // zones) * zones > most:
        findings.error(
            *at,
            "nodes",
            "max",
            what=f"is less than the pool begins with: {-(-least // zones)} in each of {zones} zones",
            got=str(most),
            allowed=f"{-(-least // zones) * zones} or more",
            fix="raise nodes.max, or name fewer zones",
        )


def _check_upgrade(at: At, pool: GkePoolSettings, settings: GkeClusterSettings, findings: Findings) -> None:
    channel = settings.upgrades.channel
    if pool.upgrade.auto is False and channel != "UNSPECIFIED":
        findings.error(
            *at,
            "upgrade",
            "auto",
            what=f"must be true in a cluster with release channel {channel}; Google refuses the pool",
            got="false",
            allowed="true",
            fix="remove auto and set upgrades: {window: …} for the cluster, or upgrades: "
            "{channel: UNSPECIFIED}",
        )


def _check_dranet(
    at: At, plan: PoolPlan, pool: GkePoolSettings, settings: GkeClusterSettings, findings: Findings
) -> None:
    family = plan.machine.name.partition("-")[0]
    families = gke_facts().dranet_families
    if settings.datapath != "ADVANCED_DATAPATH":
        findings.error(
            *at,
            "dranet",
            what="needs Dataplane V2",
            got=settings.datapath,
            allowed="ADVANCED_DATAPATH",
            fix="set datapath: ADVANCED_DATAPATH for the cluster",
        )
    if family not in families:
        findings.error(
            *at,
            "dranet",
            what=f"is not offered for machine family {family}",
            got=plan.machine.name,
            allowed=", ".join(families),
            fix="remove dranet, or choose another machine",
        )
    if pool.additional_networks:
        findings.error(
            *at,
            "additionalNetworks",
            what="cannot be combined with dranet, which makes the machine's networks itself",
            got=", ".join(pool.additional_networks),
            fix="remove additionalNetworks",
        )
    _check_floor(at, "dranet", "dranet", "true", settings, findings=findings)


def _check_floor(
    at: At, key: str, feature: str, got: str, settings: GkeClusterSettings, *, findings: Findings
) -> None:
    """Check a feature's minimum version; a declared minor means GKE's default version of it."""
    facts = gke_facts()
    floor = facts.floor(feature).version
    version = settings.version
    if version is None or (facts.numbers(version) or ()) >= (facts.numbers(floor) or ()):
        return
    findings.error(
        *at,
        key,
        what=f"needs GKE {floor} or later, the cluster runs {version}",
        got=got,
        fix=f"set version: {floor} or a later one, or remove version",
    )


_INTENTS = ("memory", "product", "profile", "compute_capability", "multiprocessors")
_CEL: Mapping[str, Callable[[Asked], object]] = {
    "memory": lambda asks: asks.reads("memory"),
    "driverVersion": lambda asks: asks.reads("driverVersion"),
    "cudaComputeCapability": lambda asks: asks.reads("cudaComputeCapability"),
    "an exact productName": lambda asks: asks.texts("productName"),
    "MIG partitions": lambda asks: "mig" in asks.texts("type") or asks.reads("profile"),
}
"""Terms of a selector that the autoscaler does not predict, by name."""


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
        requested = value_at(release.values, key, default=CRITICAL[0])
        if requested in CRITICAL and release.namespace != "kube-system":
            findings.error(
                *at,
                "values",
                key,
                what=f"is not admitted in namespace {release.namespace}: GKE takes critical pods only where "
                "a ResourceQuota allows them, and there is none",
                got=str(requested),
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
            what=f"is not a version of Kubernetes {minor}, which the cluster is declared to run",
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
                    what="is not a pool of this cluster",
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
    for name, requested in sorted(fleet.classes.items()):
        more = _unpredicted(requested, served)
        if more:
            findings.warnings.append(
                f"cluster {at[1]}: class {name} requests {', '.join(more)}, which GKE's autoscaler does not "
                f"predict of a pool without nodes: it adds no first node to {', '.join(empty)} for it; set "
                "nodes: {min: 1}, or ask for the architecture"
            )


def _unpredicted(requested: ClassSettings, served: Collection[str]) -> list[str]:
    match requested:
        case CelClass():
            asks = [asked(expression) for expression in requested.cel]
            return [name for name, is_asked in _CEL.items() if any(map(is_asked, asks))]
        case IntentClass():
            if requested.driver not in served:
                return []
            wants = [name for name in _INTENTS if getattr(requested, name) is not None]
            words = {"compute_capability": "computeCapability"}
            return [words.get(name, name) for name in wants] + (
                ["type mig"] if requested.type == "mig" else []
            )


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
