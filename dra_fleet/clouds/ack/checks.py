"""Checks of an ACK cluster as a whole, before any call to Alibaba Cloud.

Source: https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/ (scheduling GPUs by
DRA, GPU scheduling properties, GPU driver versions, supported Kubernetes versions).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.ack.facts import ack_facts, is_mainland
from dra_fleet.clouds.ack.plan import IMAGE, advertises_gpus
from dra_fleet.clouds.ack.resources import DRIVER_VERSION, LEFT_ALONE, SCHEDULING
from dra_fleet.clouds.common.machines import check_region, is_divided
from dra_fleet.core.findings.errors import shown
from dra_fleet.drivers.common.placement import PluginPods, check_plugin_placement, check_root
from dra_fleet.drivers.common.values import value_at
from dra_fleet.kubernetes.scheduling.node_affinity import some_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.ack.settings import AckClusterSettings, AckPoolSettings
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers import Driver
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.plan import PoolPlan, ReleasePlan

_MIRROR = "a mirror in the region, such as registry-vpc.cn-hangzhou.cr.aliyuncs.com/<namespace>"


def check_ack(
    name: str,
    fleet: FleetSettings,
    settings: AckClusterSettings,
    minor: str,
    pools: Sequence[PoolPlan],
    *,
    findings: Findings,
) -> None:
    """Check a cluster and its pools, apart from the releases' final values."""
    del fleet
    at = ("clusters", name)
    for plan in pools:
        pool_at = (*at, "pools", plan.name)
        pool = settings.pools[plan.name]
        _check_scheduling(pool_at, plan, pool, findings)
        _check_driver(pool_at, plan, pool, findings)
        _check_region(pool_at, plan, settings, findings)
        _check_nodes(pool_at, plan, pool, settings, findings)
    check_region(at, settings.region, settings.zones(), findings)
    _check_version(at, settings, minor, findings)
    _check_address(at, settings, findings)
    _check_images(at, settings, findings)


def check_ack_values(
    at: tuple[str, ...], driver: Driver, pools: Sequence[PoolPlan], release: ReleasePlan, findings: Findings
) -> None:
    """Check a driver's final values against the pools it serves."""
    check_plugin_placement(at, driver, pools, release, findings)
    what = "is not where ACK installs the GPU driver"
    check_root(at, driver, pools, release.values, findings, what=what, fix="remove it from values")
    if advertises_gpus(driver) and any(driver.serves(pool.machine) for pool in pools):
        _check_affinity(at, driver, release, findings)


def _check_scheduling(at: tuple[str, ...], plan: PoolPlan, pool: AckPoolSettings, findings: Findings) -> None:
    """Check that the pool's label keeps ACK's own device plugin off: one GPU may have one advertiser."""
    requested = pool.labels.get(SCHEDULING)
    known = ack_facts().own_scheduling.values
    if requested is None or not plan.machine.gpus or requested == plan.labels[SCHEDULING]:
        return
    if plan.by_plugin:
        findings.error(
            *at,
            "labels",
            SCHEDULING,
            what="contradicts advertise, with which ACK's device plugin advertises whole GPUs",
            got=requested,
            allowed=plan.labels[SCHEDULING],
            fix=f"remove {SCHEDULING} from labels; the plan writes it",
        )
        return
    findings.error(
        *at,
        "labels",
        SCHEDULING,
        what="makes ACK advertise or share GPUs that the DRA driver also publishes"
        if requested in known
        else "is not a scheduling mode of ACK",
        got=requested,
        allowed=LEFT_ALONE,
        fix=f"remove {SCHEDULING} from labels; the plan writes {LEFT_ALONE}",
    )


def _check_driver(at: tuple[str, ...], plan: PoolPlan, pool: AckPoolSettings, findings: Findings) -> None:
    if DRIVER_VERSION in pool.labels:
        findings.error(
            *at,
            "labels",
            DRIVER_VERSION,
            what="is a label this program sets itself, from driverVersion",
            got=pool.labels[DRIVER_VERSION],
            fix=f"write driverVersion: {pool.labels[DRIVER_VERSION]} and remove the label",
        )
    version = pool.driver_version
    if version is None:
        return
    if not plan.machine.gpus:
        findings.error(
            *at,
            "driverVersion",
            what=f"is for GPUs, which {plan.machine.name} does not have",
            got=version,
            fix="remove driverVersion",
        )
        return
    rule = ack_facts().avoided_drivers
    if plan.machine.name.startswith(rule.machines) and int(version.partition(".")[0]) in rule.branches:
        findings.error(
            *at,
            "driverVersion",
            what=f"is of a branch that {plan.machine.name} must not have",
            got=version,
            allowed=f"a branch other than {', '.join(map(str, rule.branches))}",
            fix="choose another version, or remove driverVersion",
        )


def _check_region(
    at: tuple[str, ...], plan: PoolPlan, settings: AckClusterSettings, findings: Findings
) -> None:
    if is_mainland(settings.region) and plan.machine.name.startswith(ack_facts().abroad.machines):
        findings.error(
            *at,
            "machine",
            what="is offered only outside of mainland China",
            got=f"{plan.machine.name} in {settings.region}",
            fix="choose another machine, or a region outside of mainland China",
        )


def _check_nodes(
    at: tuple[str, ...],
    plan: PoolPlan,
    pool: AckPoolSettings,
    settings: AckClusterSettings,
    findings: Findings,
) -> None:
    if plan.machine.gpus and plan.by_dra and settings.drivers and plan.min_nodes < 1:
        findings.error(
            *at,
            "nodes",
            "min",
            what="must be at least 1: ACK's autoscaler does not know which devices a new node would have",
            got="0",
            allowed="1 or more",
            fix="set nodes: {min: 1, …}",
        )
    unknown = [zone for zone in pool.zones if zone not in settings.zones()]
    if unknown:
        findings.error(
            *at,
            "zones",
            what="names a zone in which the cluster has no vSwitch",
            got=", ".join(unknown),
            allowed=", ".join(settings.zones()),
            fix="add a vSwitch of the zone to the cluster, or choose another zone",
        )
    if is_divided(plan):
        findings.error(
            *at,
            "sharing",
            what="requests MIG partitions, for which nothing public says how ACK leaves them to a DRA driver",
            got=plan.sharing.strategy,
            allowed="exclusive",
            fix="remove sharing",
        )
    if pool.spot and pool.reservation:
        findings.error(
            *at,
            "reservation",
            what="cannot be used by spot machines",
            got=pool.reservation,
            fix="remove it, or spot",
        )


def _check_version(at: tuple[str, ...], settings: AckClusterSettings, minor: str, findings: Findings) -> None:
    facts = ack_facts()
    known = [version for version in facts.versions if version.startswith(f"{minor}.")]
    if settings.version is None:
        if not known and settings.create is not None:
            findings.error(
                *at,
                "kubernetes",
                what=f"is not a Kubernetes version that ACK offered on {facts.date}",
                got=minor,
                allowed=", ".join(facts.versions),
                fix=f"add version: {minor}.…-aliyun.1, if ACK offers it, or choose another minor",
            )
    elif not settings.version.startswith(f"{minor}."):
        findings.error(
            *at,
            "version",
            what=f"is not a version of Kubernetes {minor}, which the cluster is declared to run",
            got=settings.version,
            allowed=", ".join(known) or f"{minor}.…-aliyun.…",
            fix="change version or kubernetes, or remove version",
        )
    elif settings.version not in facts.versions:
        findings.warnings.append(
            f"cluster {at[1]}: version {settings.version} was not known to be offered by ACK on {facts.date}"
        )


def _check_address(at: tuple[str, ...], settings: AckClusterSettings, findings: Findings) -> None:
    if settings.access is not None and settings.access.public:
        findings.warnings.append(
            f"cluster {at[1]}: its API server has a public address that everybody reaches; set access: "
            "{public: false} where the stack runs inside its network"
        )


def _check_images(at: tuple[str, ...], settings: AckClusterSettings, findings: Findings) -> None:
    """Mainland China often does not reach the registries from which the drivers' images come."""
    if not is_mainland(settings.region) or settings.registry is not None:
        return
    findings.warnings.extend(
        f"cluster {at[1]}: nodes in {settings.region} often do not reach the registry of driver "
        f"{name}'s image; add registry: {_MIRROR}"
        for name, driver in settings.drivers.items()
        if value_at(driver.values, IMAGE) is None
    )


def _check_affinity(at: tuple[str, ...], driver: Driver, release: ReleasePlan, findings: Findings) -> None:
    """Check that the chart's default affinity does not start the plugin beside ACK's own."""
    version = driver.facts.checked_version(release.version)
    affinity = PluginPods.of(driver, version, release.values).affinity
    key = driver.plugin_key("affinity")
    beside = {SCHEDULING: ack_facts().own_scheduling.values[0]}
    if affinity.matches(some_labels(beside)) != "no":
        findings.error(
            *at,
            "values",
            key,
            what="lets the plugin start on nodes whose GPUs ACK advertises itself",
            got=shown(value_at(release.values, key)),
            allowed=f"{SCHEDULING} In [{LEFT_ALONE}]",
            fix="remove it from values; the plan writes it",
        )
