"""Pools of ACK: machines, labels, taints and names, and drivers' chart values beyond the drivers' own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.clouds.ack import CLOUD
from dra_fleet.clouds.ack.facts import ack_facts
from dra_fleet.clouds.ack.resources import ADVERTISED, DRIVER_VERSION, LEFT_ALONE, SCHEDULING
from dra_fleet.clouds.common.machines import (
    HASH_LENGTH,
    ReservedLabels,
    check_devices,
    check_labels,
    find_machine,
    identity_of,
    labels_of,
    planned,
    short_hash,
)
from dra_fleet.drivers.common.placement import any_linux_node, away_from, node_affinity, node_label
from dra_fleet.drivers.common.values import merged, nested
from dra_fleet.model.specs import POOL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clouds.ack.settings import AckClusterSettings, AckPoolSettings
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Driver, Release
    from dra_fleet.model.plan import ChartValues, PoolPlan


_RESERVED = ReservedLabels(
    owner="ACK",
    refuser="ACK",
    prefixes=("ack.aliyun.com/", "alibabacloud.com/", "kubernetes.io/", "k8s.io/", "node.kubernetes.io/"),
    checked=frozenset({SCHEDULING, DRIVER_VERSION}),
)
_NAME_LIMIT = 63
"""https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/developer-reference/api-cs-2015-12-15-createclusternodepool"""
_DESCRIBE = (
    "describe it in the stack file: machine: {instanceType: ecs.gn7i-c8g1.2xlarge, gpu: A10, gpus: 1, "
    "cpus: 8, memory: 30}"
)


def plan_ack_pool(
    at: tuple[str, ...], name: str, settings: AckClusterSettings, findings: Findings
) -> PoolPlan | None:
    """Return the plan of a node pool, or None if its machine was rejected."""
    pool = settings.pools[name]
    machine = find_machine(at, pool.machine, CLOUD.machines, _DESCRIBE, findings=findings)
    if machine is None:
        return None
    if not isinstance(pool.machine, str):
        machine = machine.model_copy(
            update={"name": pool.machine.instance_type, "cloud": CLOUD.name, "arch": "amd64"}
        )
    check_devices(at, machine, pool, findings)
    own = {POOL: name, **labels_of(machine, pool)}
    check_labels(at, pool, own, findings, machine=machine, reserved=_RESERVED)
    if machine.gpus:
        own[SCHEDULING] = LEFT_ALONE if pool.advertise in {None, "dra"} else ADVERTISED
        if pool.driver_version is not None:
            own[DRIVER_VERSION] = pool.driver_version
    return planned(name, pool, machine, {**pool.labels, **own})


def zones_of(pool: AckPoolSettings, settings: AckClusterSettings) -> tuple[str, ...]:
    """Return the zones of a pool's vSwitches."""
    return tuple(sorted(pool.zones)) or settings.zones()


def node_pool_name(plan: PoolPlan, pool: AckPoolSettings) -> str:
    """Return a node pool name that changes with every property its existing nodes do not adopt.

    ACK applies a new GPU driver, machine or image only to nodes that join later, so a new pool replaces the
    old.
    """
    identity = (
        plan.name,
        plan.machine.name,
        pool.image,
        pool.driver_version or "",
        "spot" if pool.spot else "",
        pool.reservation or "",
        *identity_of(plan),
    )
    digest = short_hash("\n".join(identity))
    return f"{plan.name[: _NAME_LIMIT - HASH_LENGTH - 1]}-{digest}"


IMAGE = "image.repository"
"""Key of a chart's values with the repository of its image."""


def ack_driver_values(
    driver: Driver, release: Release, settings: AckClusterSettings, theirs: ChartValues
) -> ChartValues:
    """Return the chart values that a driver needs on ACK.

    Args:
        driver: the driver.
        release: the release to be made.
        settings: the cluster's.
        theirs: the stack's own values, which decide whether there is a controller.
    """
    chosen: dict[str, Any] = {**driver.placement_values(release)}
    if advertises_gpus(driver) and any(driver.serves(pool.machine) for pool in release.pools):
        affinity = node_affinity([[node_label(SCHEDULING, LEFT_ALONE)]])
        chosen = merged(chosen, nested({driver.plugin_key("affinity"): affinity}))
    if driver.has_controller(theirs, default=False):
        # Replaces the charts' affinity for control plane nodes, which ACK does not show, and keeps the
        # controller off the nodes of the driver's pools.
        away = away_from(any_linux_node(), [{SCHEDULING: LEFT_ALONE}])
        chosen = merged(chosen, {"controller": {"affinity": away}})
    if settings.registry is not None and IMAGE in release.version.values:
        chosen = merged(chosen, nested({IMAGE: f"{settings.registry}/{release.version.chart}"}))
    return chosen


def advertises_gpus(driver: Driver) -> bool:
    """Return True if a driver publishes the devices that ACK's own device plugin advertises."""
    return driver.resources.known_by == "gpus"


def version_of(settings: AckClusterSettings, minor: str) -> str:
    """Return the whole version of a cluster, such as 1.36.2-aliyun.1."""
    return settings.version or ack_facts().version_of(minor) or minor


def ack_arguments(settings: AckClusterSettings) -> Mapping[str, ChartValues]:
    """Return what settings pass on to the cloud unchanged, by pool; "" is the cluster."""
    found: dict[str, object] = {}
    if settings.create is not None and settings.create.encryption_key is not None:
        found |= {"encryptionProviderKey": settings.create.encryption_key, "disableEncryption": False}
    if settings.create is not None and settings.create.logs:
        # The provider requires the days beside the components; 30 is its default.
        found |= {"controlPlaneLogComponents": list(settings.create.logs), "controlPlaneLogTtl": "30"}
    roles = {name: {"ramRoleName": pool.ram_role} for name, pool in settings.pools.items() if pool.ram_role}
    return {"": found, **roles}
