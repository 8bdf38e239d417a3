"""The AKS cluster and agent pools that Azure is asked for, with final names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.clouds.aks.plan import agent_pool_name, physical_name
from dra_fleet.clouds.aks.resources import SPOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.aks.settings import (
        AdoptCluster,
        AksAccess,
        AksClusterSettings,
        AksLogs,
        AksPoolSettings,
        AksUpgrades,
        CreateCluster,
        PoolUpgrade,
    )
    from dra_fleet.kubernetes.scheduling.taints import Taint
    from dra_fleet.model.plan import ChartValues, PoolPlan
    from dra_fleet.model.settings import TextOrOutput


@dataclass(frozen=True, kw_only=True)
class AksScale:
    """How many nodes: `count` at the beginning, later within `bounds`, None where the number is fixed."""

    count: int
    bounds: tuple[int, int] | None


@dataclass(frozen=True, kw_only=True)
class AksSystemPoolPlan:
    """The pool of the cluster's own pods."""

    vm_size: str
    zones: tuple[str, ...]
    scale: AksScale


@dataclass(frozen=True, kw_only=True)
class AksWindowPlan:
    """When automatic upgrades of one kind run, every week in UTC. `name`: AKS's of that kind."""

    name: str
    day: str
    start: str
    hours: int


@dataclass(frozen=True, kw_only=True)
class AksCreation:
    """A cluster that the stack creates."""

    dns_prefix: str
    identity: TextOrOutput | None
    subnet: TextOrOutput | None
    logs: AksLogs | None
    sku: str
    long_term_support: bool
    upgrade_channel: str
    node_image_channel: str
    windows: tuple[AksWindowPlan, ...]
    admin_groups: tuple[str, ...]
    authorized_ranges: tuple[str, ...]
    private: bool
    system: AksSystemPoolPlan


@dataclass(frozen=True, kw_only=True)
class AksUpgradePlan:
    """How a pool's nodes are upgraded: numbers or parts of the pool, and minutes."""

    surge: str
    unavailable: str
    drain_timeout: int


@dataclass(frozen=True, kw_only=True)
class AksPoolPlan:
    """An agent pool. `key`: its name in the stack file, `name`: in Azure.

    `gpu_driver`: whether AKS installs it, None without GPUs. `labels` and `taints`: those that AKS does not
    put there by itself.
    """

    key: str
    name: str
    type: str
    vm_size: str
    os_type: str
    os_sku: str
    zones: tuple[str, ...]
    scale: AksScale
    spot: bool
    gpu_driver: bool | None
    gpu_instance_profile: str | None
    capacity_reservation_group: str | None
    upgrade: AksUpgradePlan
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


@dataclass(frozen=True, kw_only=True)
class AksClusterPlan:
    """A cluster as Azure is asked for it. `name`: in Azure, of one that the stack makes.

    `adopts`: the name of one that was there. `creates`: None then.

    `kubernetes`: the minor of the control plane and of all pools. `login`: how
    kubelogin gets its token. `priorities`: the names in Azure of the pools of each priority.
    """

    name: str
    resource_group: TextOrOutput
    region: str
    kubernetes: str
    subscription: str | None
    login: str
    adopts: TextOrOutput | None
    creates: AksCreation | None
    pools: tuple[AksPoolPlan, ...]
    priorities: Mapping[int, tuple[str, ...]]


def plan_aks_cluster(
    name: str, settings: AksClusterSettings, minor: str, pools: Sequence[PoolPlan]
) -> AksClusterPlan:
    """What Azure is asked for, of a stack that has been found to be without errors.

    Args:
        name: The cluster's name in the stack file.
        settings: The cluster's.
        minor: Of its control plane and of all pools.
        pools: All its planned pools.
    """
    create, access = settings.create, settings.access
    planned = tuple(_pool(plan, settings.pools[plan.name]) for plan in pools)
    priorities: dict[int, tuple[str, ...]] = {}
    for pool in planned:
        priority = settings.pools[pool.key].priority
        if priority is not None:
            priorities[priority] = (*priorities.get(priority, ()), pool.name)
    return AksClusterPlan(
        name=name,
        adopts=None if settings.adopt is None else settings.adopt.name,
        resource_group=_whereabouts(name, settings).resource_group,
        region=settings.region,
        kubernetes=minor,
        subscription=settings.subscription,
        login="azurecli" if access is None else access.login,
        creates=None if create is None or access is None else _creation(name, settings, create, access),
        pools=planned,
        priorities=priorities,
    )


def _whereabouts(name: str, settings: AksClusterSettings) -> CreateCluster | AdoptCluster:
    found = settings.create or settings.adopt
    if found is None:
        raise ValueError(f"cluster {name} is neither created nor adopted")
    return found


def _creation(
    name: str, settings: AksClusterSettings, create: CreateCluster, access: AksAccess
) -> AksCreation:
    system, upgrades = settings.system_pool, settings.upgrades
    return AksCreation(
        dns_prefix=physical_name("dnsPrefix", name),
        identity=create.identity,
        subnet=create.subnet,
        logs=create.logs,
        sku=settings.sku,
        long_term_support=settings.long_term_support,
        upgrade_channel=upgrades.kubernetes,
        node_image_channel=upgrades.node_image,
        windows=_windows(upgrades),
        admin_groups=access.admin_groups,
        authorized_ranges=access.authorized_ranges,
        private=access.private,
        system=AksSystemPoolPlan(
            vm_size=system.machine, zones=system.zones, scale=_scale(system.nodes.min, system.nodes.max)
        ),
    )


def _windows(upgrades: AksUpgrades) -> tuple[AksWindowPlan, ...]:
    """The window of each kind of automatic upgrade that is on."""
    window = upgrades.window
    if window is None:
        return ()
    kinds = {
        "aksManagedAutoUpgradeSchedule": upgrades.kubernetes != "none",
        "aksManagedNodeOSUpgradeSchedule": upgrades.node_image != "None",
    }
    return tuple(
        AksWindowPlan(name=name, day=window.day, start=window.start, hours=window.hours)
        for name, on in kinds.items()
        if on
    )


def _pool(plan: PoolPlan, pool: AksPoolSettings) -> AksPoolPlan:
    return AksPoolPlan(
        key=plan.name,
        name=agent_pool_name(plan, pool),
        type=pool.type,
        vm_size=plan.machine.name,
        os_type="Windows" if pool.os_sku.startswith("Windows") else "Linux",
        os_sku=pool.os_sku,
        zones=pool.zones,
        scale=_scale(plan.min_nodes, plan.max_nodes),
        spot=pool.spot,
        gpu_driver=pool.gpu_driver == "aks" if plan.machine.gpus else None,
        gpu_instance_profile=pool.gpu_instance_profile,
        capacity_reservation_group=pool.capacity_reservation_group,
        upgrade=_upgrade(pool.upgrade),
        # AKS puts the label and the taint of spot nodes there itself, and refuses its own prefix.
        labels={key: value for key, value in plan.labels.items() if key != SPOT},
        taints=tuple(taint for taint in plan.taints if taint.key != SPOT),
    )


def _scale(least: int, most: int) -> AksScale:
    return AksScale(count=least, bounds=None if least == most else (least, most))


def _upgrade(upgrade: PoolUpgrade) -> AksUpgradePlan:
    return AksUpgradePlan(
        surge=upgrade.surge or "0",
        unavailable="0" if upgrade.surge else upgrade.unavailable or "1",
        drain_timeout=upgrade.drain_timeout,
    )


def aks_arguments(settings: AksClusterSettings) -> dict[str, ChartValues]:
    """Return what settings pass on to Azure unchanged, by pool; "" is the cluster."""
    create = settings.create
    key = None if create is None else create.encryption_key
    kms = {"enabled": True, "keyId": key, "keyVaultNetworkAccess": "Public"}
    subnets = {
        name: pool.subnet or (None if create is None else create.subnet)
        for name, pool in settings.pools.items()
    }
    return {
        "": {} if key is None else {"securityProfile": {"azureKeyVaultKms": kms}},
        **{name: {"vnetSubnetID": subnet} for name, subnet in subnets.items() if subnet is not None},
    }
