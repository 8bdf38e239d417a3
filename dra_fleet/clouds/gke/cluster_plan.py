"""The GKE cluster and node pools that Google Cloud is asked for, with final names."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.clouds.gke.plan import AUTOMATIC, installer_of, is_zone, pool_name, region_of, zones_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.gke.settings import (
        CreateGkeCluster,
        GkeAccess,
        GkeClusterSettings,
        GkePoolSettings,
        GkeWindow,
    )
    from dra_fleet.kubernetes.scheduling.taints import Taint
    from dra_fleet.model.plan import ChartValues, PoolPlan
    from dra_fleet.model.settings import TextOrOutput


@dataclass(frozen=True, kw_only=True)
class GkeScale:
    """How many nodes: `each` in every zone at the beginning, later within `totals` of all zones.

    `totals`: the least and the most; None where the number is fixed. `anywhere`: new nodes go to whatever
    zone has room, else they are balanced over the zones.
    """

    each: int
    totals: tuple[int, int] | None
    anywhere: bool


@dataclass(frozen=True, kw_only=True)
class GkeSystemPoolPlan:
    """The pool of the cluster's own pods."""

    machine_type: str
    zones: tuple[str, ...]
    scale: GkeScale
    auto_upgrade: bool


@dataclass(frozen=True, kw_only=True)
class GkeMaintenance:
    """A weekly window: its first occurrence in UTC, and the RFC 5545 rule by which it comes again."""

    start: str
    end: str
    recurrence: str


@dataclass(frozen=True, kw_only=True)
class GkeCreation:
    """A cluster that the stack creates. `external`: its DNS name answers outside of Google Cloud too."""

    version: str
    channel: str
    maintenance: GkeMaintenance | None
    network: TextOrOutput
    subnetwork: TextOrOutput | None
    private_nodes: bool
    datapath: str
    multi_networked: bool
    external: bool
    system: GkeSystemPoolPlan


@dataclass(frozen=True, kw_only=True)
class GkeSurge:
    """Nodes more and fewer than usual while a pool is upgraded node by node."""

    more: int
    fewer: int


@dataclass(frozen=True, kw_only=True)
class GkeCompactPlacement:
    """Nodes close together: by a policy that exists, or by one of the pool's own."""

    policy: str | None
    topology: str | None


@dataclass(frozen=True, kw_only=True)
class GkeReservedCapacity:
    """Which reservations the nodes may come out of: a kind, or some by their names."""

    consume: str
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class GkeGpuSharing:
    """How GKE's own device plugin shares a GPU, and among how many pods."""

    strategy: str
    clients: int


@dataclass(frozen=True, kw_only=True)
class GkeGpus:
    """The GPUs of each node. `driver_version`: None leaves the driver to GKE's own default."""

    kind: str
    count: int
    driver_version: str | None
    partition_size: str | None
    sharing: GkeGpuSharing | None


@dataclass(frozen=True, kw_only=True)
class GkePoolPlan:
    """A node pool. `key`: its name in the stack file, `name`: in GKE.

    `surge`: None where all new nodes are made before the old ones go. `taints`: those that GKE does not put
    there by itself.
    """

    key: str
    name: str
    machine_type: str
    image: str
    disk_gib: int
    zones: tuple[str, ...]
    scale: GkeScale
    auto_repair: bool
    auto_upgrade: bool
    surge: GkeSurge | None
    placement: GkeCompactPlacement | None
    reserved: GkeReservedCapacity | None
    spot: bool
    flex_start: bool
    queued: bool
    max_run_duration: str | None
    dranet: bool
    networks: tuple[str, ...]
    gpus: GkeGpus | None
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


@dataclass(frozen=True, kw_only=True)
class GkeClusterPlan:
    """A cluster as Google is asked for it. `name`: in GKE, of one that the stack makes.

    `adopts`: the name of one that was there. `creates`: None then.

    `kubernetes`: the minor of the control plane.
    `installers`: the pools (by their names in the stack file) that each driver installer is for.
    `compute_classes`: the pools (by their names in GKE) of each ComputeClass, most wanted first.
    """

    name: str
    project: str
    location: str
    region: str
    zone: str | None
    kubernetes: str
    adopts: TextOrOutput | None
    creates: GkeCreation | None
    pools: tuple[GkePoolPlan, ...]
    installers: Mapping[str, tuple[str, ...]]
    compute_classes: Mapping[str, tuple[str, ...]]


SYSTEM_POOL = "system"
"""The pool of the cluster's own pods, in GKE too."""

_MONDAY = dt.date(2026, 1, 5)
_DRIVERS = {"installer": "INSTALLATION_DISABLED", "external": "INSTALLATION_DISABLED", "gke": "DEFAULT"}


def plan_gke_cluster(
    name: str, settings: GkeClusterSettings, minor: str, pools: Sequence[PoolPlan]
) -> GkeClusterPlan:
    """What Google is asked for, of a stack that has been found to be without errors.

    Args:
        name: The cluster's name in the stack file.
        settings: The cluster's.
        minor: Of its control plane.
        pools: All its planned pools.
    """
    create, access, adopt = settings.create, settings.access, settings.adopt
    names = {plan.name: pool_name(plan, settings.pools[plan.name]) for plan in pools}
    installers: dict[str, tuple[str, ...]] = {}
    for plan in pools:
        installer = installer_of(plan, settings.pools[plan.name])
        if installer is not None:
            installers[installer] = (*installers.get(installer, ()), plan.name)
    return GkeClusterPlan(
        name=name,
        adopts=None if adopt is None else adopt.name,
        project=settings.project,
        location=settings.location,
        region=region_of(settings.location),
        zone=settings.location if is_zone(settings.location) else None,
        kubernetes=minor,
        creates=None if create is None or access is None else _creation(settings, create, access, minor),
        pools=tuple(_pool(plan, settings, names[plan.name]) for plan in pools),
        installers=installers,
        compute_classes={
            compute_class: tuple(names[pool] for pool in item.priorities)
            for compute_class, item in settings.compute_classes.items()
        },
    )


def _creation(
    settings: GkeClusterSettings, create: CreateGkeCluster, access: GkeAccess, minor: str
) -> GkeCreation:
    system, window = settings.system_pool, settings.upgrades.window
    zones = zones_of(system.zones, settings.location)
    return GkeCreation(
        version=settings.version or minor,
        channel=settings.upgrades.channel,
        maintenance=None if window is None else _maintenance(window),
        network=create.network,
        subnetwork=create.subnetwork,
        private_nodes=create.private_nodes,
        datapath=settings.datapath,
        multi_networked=any(pool.dranet or pool.additional_networks for pool in settings.pools.values()),
        external=access.external,
        system=GkeSystemPoolPlan(
            machine_type=system.machine,
            zones=system.zones,
            scale=_scale(system.nodes.min, system.nodes.max, zones, anywhere=False),
            auto_upgrade=_has_channel(settings),
        ),
    )


def _maintenance(window: GkeWindow) -> GkeMaintenance:
    days = [day[:2].upper() for day in dict.fromkeys(window.days)]
    start = dt.datetime.combine(_MONDAY, dt.time.fromisoformat(window.start), dt.UTC)
    written = "%Y-%m-%dT%H:%M:%SZ"
    return GkeMaintenance(
        start=start.strftime(written),
        end=(start + dt.timedelta(hours=window.hours)).strftime(written),
        recurrence=f"FREQ=WEEKLY;BYDAY={','.join(days)}",
    )


def _pool(plan: PoolPlan, settings: GkeClusterSettings, name: str) -> GkePoolPlan:
    pool = settings.pools[plan.name]
    upgrade, placement = pool.upgrade, pool.placement
    zones = zones_of(pool.zones, settings.location)
    return GkePoolPlan(
        key=plan.name,
        name=name,
        machine_type=plan.machine.cloud_type,
        image=pool.image,
        disk_gib=pool.disk_gib,
        zones=pool.zones,
        scale=_scale(plan.min_nodes, plan.max_nodes, zones, anywhere=_is_borrowed(pool)),
        auto_repair=pool.auto_repair,
        auto_upgrade=_has_channel(settings) if upgrade.auto is None else upgrade.auto,
        surge=None
        if upgrade.strategy == "BLUE_GREEN"
        else GkeSurge(more=upgrade.surge, fewer=upgrade.unavailable),
        placement=None
        if placement is None or not (placement.compact or placement.policy)
        else GkeCompactPlacement(policy=placement.policy, topology=placement.topology),
        reserved=_reserved(pool),
        spot=pool.spot,
        flex_start=pool.flex_start,
        queued=pool.queued,
        max_run_duration=pool.max_run_duration,
        dranet=pool.dranet,
        networks=pool.additional_networks,
        gpus=_gpus(plan, pool),
        labels=plan.labels,
        taints=tuple(taint for taint in plan.taints if taint.key not in AUTOMATIC),
    )


def _scale(least: int, most: int, zones: int, *, anywhere: bool) -> GkeScale:
    """Counts per zone at the beginning; totals where the autoscaler moves the size."""
    return GkeScale(
        each=-(-least // zones), totals=None if least == most else (least, most), anywhere=anywhere
    )


def _has_channel(settings: GkeClusterSettings) -> bool:
    return settings.upgrades.channel != "UNSPECIFIED"


def _is_borrowed(pool: GkePoolSettings) -> bool:
    """Whether its nodes are of what others leave, wherever that is."""
    return pool.spot or pool.flex_start or pool.queued


def _reserved(pool: GkePoolSettings) -> GkeReservedCapacity | None:
    if pool.reservation is not None:
        return GkeReservedCapacity(consume=pool.reservation.consume, names=pool.reservation.names)
    # Such capacity never comes out of a reservation, and Google wants to be told so.
    return GkeReservedCapacity(consume="NO_RESERVATION", names=()) if _is_borrowed(pool) else None


def _gpus(plan: PoolPlan, pool: GkePoolSettings) -> GkeGpus | None:
    """The GPUs of each node, with what GKE shall do about their driver said aloud: it installs by default."""
    machine, sharing = plan.machine, pool.gpu_sharing
    if not machine.gpus or machine.accelerator is None:
        return None
    return GkeGpus(
        kind=machine.accelerator,
        count=machine.gpus,
        driver_version=None if pool.gpu_driver is None else _DRIVERS[pool.gpu_driver],
        partition_size=pool.gpu_partition_size,
        sharing=None
        if sharing is None
        else GkeGpuSharing(strategy=sharing.strategy, clients=sharing.clients),
    )


def gke_arguments(settings: GkeClusterSettings) -> Mapping[str, ChartValues]:
    """Return what settings pass on to the cloud unchanged, by pool; "" is the cluster."""
    found: dict[str, object] = {}
    if settings.create is not None and settings.create.encryption_key is not None:
        found["databaseEncryption"] = {"state": "ENCRYPTED", "keyName": settings.create.encryption_key}
    if settings.create is not None and settings.create.logs:
        found["loggingConfig"] = {"enableComponents": ["SYSTEM_COMPONENTS", *settings.create.logs]}
    accounts = {name: pool.service_account for name, pool in settings.pools.items()}
    accounts[SYSTEM_POOL] = settings.system_pool.service_account
    nodes = {name: {"nodeConfig": {"serviceAccount": one}} for name, one in accounts.items() if one}
    return {"": found, **nodes}
