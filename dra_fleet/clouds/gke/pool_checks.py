"""What is wrong with one node pool of GKE: who drives and advertises its devices, and where its nodes are.

Source: https://cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.common.machines import is_divided
from dra_fleet.clouds.gke.capacity import check_gke_capacity
from dra_fleet.clouds.gke.chips import chips_of
from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.clouds.gke.names import is_zone, region_of, zones_of
from dra_fleet.clouds.gke.pools import NETWORK_CARDS, allocates, fitting_installer

if TYPE_CHECKING:
    from dra_fleet.clouds.gke.pool_settings import GkePoolSettings
    from dra_fleet.clouds.gke.settings import GkeClusterSettings
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import PoolPlan

At = tuple[str, ...]


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
            fix="set image: COS_CONTAINERD, or gpuDriver: external if somebody else installs the driver",
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
            what="asks for MIG partitions that nobody makes: the GPU Operator installs nothing on GKE's node "
            "images, and GKE's own partitions come with its device plugin",
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
            fix=f"add zones: [{region}-a], as `gcloud compute machine-types list` tells",
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
    if NETWORK_CARDS in settings.drivers:
        findings.error(
            *at,
            "dranet",
            what=f"runs GKE's own build of {NETWORK_CARDS} beside the stack's; both publish under one name, "
            "and a node can have one of them",
            got="true",
            fix=f"remove {NETWORK_CARDS} from the cluster's drivers, or dranet from the pool",
        )
    _check_floor(at, "dranet", "dranet", "true", settings, findings=findings)


def _check_floor(
    at: At, key: str, feature: str, got: str, settings: GkeClusterSettings, *, findings: Findings
) -> None:
    """A feature works from some version on; where only a minor is declared, GKE's default of it does."""
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
