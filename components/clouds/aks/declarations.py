"""The plan of an AKS cluster, declared field by field with typed arguments. Nothing is decided here.

Resources are declared here, not their Args: of AgentPoolArgs and ManagedClusterArgs the SDK unpacks
`resource_name` onto its own parameter of that name.
Source: https://learn.microsoft.com/en-us/rest/api/aks/ (2025-09-01).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi_azure_native.containerservice as aks

from dra_fleet.clouds.aks.labels import SPOT
from dra_fleet.clouds.aks.names import physical_name
from dra_fleet.clouds.aks.pools import agent_pool_name

if TYPE_CHECKING:
    import pulumi

    from dra_fleet.clouds.aks.settings import (
        AksClusterSettings,
        AksPoolSettings,
        CreateCluster,
        MaintenanceWindow,
    )
    from dra_fleet.model.plan import PoolPlan

SYSTEM_POOL = "system"


@dataclass(frozen=True, kw_only=True)
class PoolHome:
    """The cluster that a pool is added to: resource group, name, and the minor of control plane and pools."""

    group: pulumi.Input[str]
    cluster: pulumi.Input[str]
    kubernetes: str


def declare_cluster(
    name: str,
    group: pulumi.Input[str],
    kubernetes: str,
    settings: AksClusterSettings,
    opts: pulumi.ResourceOptions,
) -> aks.ManagedCluster:
    """The control plane with its system pool.

    Args:
        name: logical, and its name in Azure.
        group: the name of its resource group.
        kubernetes: its minor.
        settings: its section of the stack file.
        opts: parent and provider.
    """
    access = settings.access
    groups: list[pulumi.Input[str]] = list(access.admin_groups) if access else []
    ranges: list[pulumi.Input[str]] = list(access.authorized_ranges) if access else []
    return aks.ManagedCluster(
        name,
        resource_group_name=group,
        resource_name_=name,
        location=settings.region,
        dns_prefix=physical_name("dnsPrefix", name),
        kubernetes_version=kubernetes,
        identity=_identity(settings.create),
        sku=aks.ManagedClusterSKUArgs(
            name=settings.sku, tier="Premium" if settings.long_term_support else "Standard"
        ),
        support_plan="AKSLongTermSupport" if settings.long_term_support else "KubernetesOfficial",
        disable_local_accounts=True,
        enable_rbac=True,
        oidc_issuer_profile=aks.ManagedClusterOIDCIssuerProfileArgs(enabled=True),
        security_profile=aks.ManagedClusterSecurityProfileArgs(
            workload_identity=aks.ManagedClusterSecurityProfileWorkloadIdentityArgs(enabled=True)
        ),
        auto_upgrade_profile=aks.ManagedClusterAutoUpgradeProfileArgs(
            upgrade_channel=settings.upgrades.kubernetes, node_os_upgrade_channel=settings.upgrades.node_image
        ),
        network_profile=aks.ContainerServiceNetworkProfileArgs(
            network_plugin="azure", network_plugin_mode="overlay", network_dataplane="cilium"
        ),
        auto_scaler_profile=aks.ManagedClusterPropertiesAutoScalerProfileArgs(
            expander="priority" if prioritised(settings) else "random"
        ),
        agent_pool_profiles=[_system_pool(kubernetes, settings)],
        aad_profile=aks.ManagedClusterAADProfileArgs(
            managed=True, enable_azure_rbac=True, admin_group_object_ids=groups or None
        ),
        api_server_access_profile=aks.ManagedClusterAPIServerAccessProfileArgs(
            enable_private_cluster=access.private if access else None, authorized_ip_ranges=ranges or None
        ),
        opts=opts,
    )


def declare_pool(
    name: str, home: PoolHome, plan: PoolPlan, pool: AksPoolSettings, opts: pulumi.ResourceOptions
) -> aks.AgentPool:
    """A pool of GPU nodes.

    Args:
        name: logical.
        home: the cluster it is added to.
        plan: its plan.
        pool: its section of the stack file.
        opts: parent and provider, and what must be there before it.
    """
    scaled = plan.min_nodes < plan.max_nodes
    driver = aks.GPUProfileArgs(driver="Install" if pool.gpu_driver == "aks" else "None")
    return aks.AgentPool(
        name,
        resource_group_name=home.group,
        resource_name_=home.cluster,
        agent_pool_name=agent_pool_name(plan, pool),
        mode="User",
        type=pool.type,
        vm_size=plan.machine.name,
        os_type="Windows" if pool.os_sku.startswith("Windows") else "Linux",
        os_sku=pool.os_sku,
        orchestrator_version=home.kubernetes,
        count=plan.min_nodes,
        enable_auto_scaling=scaled,
        min_count=plan.min_nodes if scaled else None,
        max_count=plan.max_nodes if scaled else None,
        scale_down_mode="Delete",
        # AKS puts the label and the taint of spot nodes there itself, and refuses its own prefix.
        node_labels={key: value for key, value in plan.labels.items() if key != SPOT},
        node_taints=[
            f"{taint.key}={taint.value}:{taint.effect}" for taint in plan.taints if taint.key != SPOT
        ],
        availability_zones=list(pool.zones) or None,
        gpu_profile=driver if plan.machine.gpus else None,
        gpu_instance_profile=pool.gpu_instance_profile,
        capacity_reservation_group_id=pool.capacity_reservation_group,
        upgrade_settings=_upgrade(pool),
        scale_set_priority="Spot" if pool.spot else "Regular",
        scale_set_eviction_policy="Delete" if pool.spot else None,
        spot_max_price=-1 if pool.spot else None,
        opts=opts,
    )


def maintenance_windows(settings: AksClusterSettings) -> dict[str, MaintenanceWindow]:
    """The window of each kind of automatic upgrade that is on, by the name AKS gives its configuration."""
    window = settings.upgrades.window
    if window is None:
        return {}
    channels = {
        "aksManagedAutoUpgradeSchedule": settings.upgrades.kubernetes != "none",
        "aksManagedNodeOSUpgradeSchedule": settings.upgrades.node_image != "None",
    }
    return {name: window for name, on in channels.items() if on}


def window_arguments(window: MaintenanceWindow) -> aks.MaintenanceWindowArgs:
    """A weekly window in UTC."""
    return aks.MaintenanceWindowArgs(
        schedule=aks.ScheduleArgs(
            weekly=aks.WeeklyScheduleArgs(day_of_week=aks.WeekDay(window.day), interval_weeks=1)
        ),
        start_time=window.start,
        duration_hours=window.hours,
        utc_offset="+00:00",
    )


def prioritised(settings: AksClusterSettings) -> dict[int, list[str]]:
    """The names of the pools that have a priority, by it."""
    found: dict[int, list[str]] = {}
    for name, pool in sorted(settings.pools.items()):
        if pool.priority is not None:
            found.setdefault(pool.priority, []).append(name)
    return found


def _identity(create: CreateCluster | None) -> aks.ManagedClusterIdentityArgs:
    if create is None or create.identity is None:
        return aks.ManagedClusterIdentityArgs(type=aks.ResourceIdentityType.SYSTEM_ASSIGNED)
    return aks.ManagedClusterIdentityArgs(
        type=aks.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=[create.identity]
    )


def _system_pool(kubernetes: str, settings: AksClusterSettings) -> aks.ManagedClusterAgentPoolProfileArgs:
    system = settings.system_pool
    scaled = system.nodes.min < system.nodes.max
    return aks.ManagedClusterAgentPoolProfileArgs(
        name=SYSTEM_POOL,
        mode="System",
        vm_size=system.machine,
        os_type="Linux",
        os_sku="AzureLinux3",
        orchestrator_version=kubernetes,
        availability_zones=list(system.zones) or None,
        node_taints=["CriticalAddonsOnly=true:NoSchedule"],
        count=system.nodes.min,
        enable_auto_scaling=scaled,
        min_count=system.nodes.min if scaled else None,
        max_count=system.nodes.max if scaled else None,
    )


def _upgrade(pool: AksPoolSettings) -> aks.AgentPoolUpgradeSettingsArgs:
    upgrade = pool.upgrade
    return aks.AgentPoolUpgradeSettingsArgs(
        max_surge=upgrade.surge or "0",
        max_unavailable="0" if upgrade.surge else upgrade.unavailable or "1",
        drain_timeout_in_minutes=upgrade.drain_timeout,
        undrainable_node_behavior="Cordon",
    )
