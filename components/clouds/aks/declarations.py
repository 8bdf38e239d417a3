"""The plan of an AKS cluster as the SDK's typed arguments, field by field. Nothing is decided here.

Source: https://learn.microsoft.com/en-us/rest/api/aks/ (2025-09-01).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def cluster_arguments(
    name: str, kubernetes: str, create: CreateCluster, settings: AksClusterSettings
) -> dict[str, Any]:
    """The arguments of a ManagedCluster, apart from its resource group and name."""
    return {
        "location": settings.region,
        "dns_prefix": physical_name("dnsPrefix", name),
        "kubernetes_version": kubernetes,
        "identity": _identity(create),
        "sku": aks.ManagedClusterSKUArgs(
            name=settings.sku, tier="Premium" if settings.long_term_support else "Standard"
        ),
        "support_plan": "AKSLongTermSupport" if settings.long_term_support else "KubernetesOfficial",
        "disable_local_accounts": True,
        "enable_rbac": True,
        "oidc_issuer_profile": aks.ManagedClusterOIDCIssuerProfileArgs(enabled=True),
        "security_profile": aks.ManagedClusterSecurityProfileArgs(
            workload_identity=aks.ManagedClusterSecurityProfileWorkloadIdentityArgs(enabled=True)
        ),
        "auto_upgrade_profile": aks.ManagedClusterAutoUpgradeProfileArgs(
            upgrade_channel=settings.upgrades.kubernetes, node_os_upgrade_channel=settings.upgrades.node_image
        ),
        "network_profile": aks.ContainerServiceNetworkProfileArgs(
            network_plugin="azure", network_plugin_mode="overlay", network_dataplane="cilium"
        ),
        "auto_scaler_profile": aks.ManagedClusterPropertiesAutoScalerProfileArgs(
            expander="priority" if prioritised(settings) else "random"
        ),
        "agent_pool_profiles": [_system_pool(kubernetes, settings)],
        **_access(settings),
    }


def pool_arguments(kubernetes: str, plan: PoolPlan, pool: AksPoolSettings) -> dict[str, Any]:
    """The arguments of an AgentPool, apart from its cluster."""
    spot: dict[str, Any] = {"scale_set_priority": "Regular"}
    if pool.spot:
        spot = {"scale_set_priority": "Spot", "scale_set_eviction_policy": "Delete", "spot_max_price": -1}
    driver = aks.GPUProfileArgs(driver="Install" if pool.gpu_driver == "aks" else "None")
    return {
        "agent_pool_name": agent_pool_name(plan, pool),
        "mode": "User",
        "type": pool.type,
        "vm_size": plan.machine.name,
        "os_type": "Windows" if pool.os_sku.startswith("Windows") else "Linux",
        "os_sku": pool.os_sku,
        "orchestrator_version": kubernetes,
        **_scale(plan.min_nodes, plan.max_nodes),
        "scale_down_mode": "Delete",
        # AKS puts the label and the taint of spot nodes there itself, and refuses its own prefix.
        "node_labels": {key: value for key, value in plan.labels.items() if key != SPOT},
        "node_taints": [
            f"{taint.key}={taint.value}:{taint.effect}" for taint in plan.taints if taint.key != SPOT
        ],
        "availability_zones": list(pool.zones) or None,
        "gpu_profile": driver if plan.machine.gpus else None,
        "gpu_instance_profile": pool.gpu_instance_profile,
        "capacity_reservation_group_id": pool.capacity_reservation_group,
        "upgrade_settings": _upgrade(pool),
        **spot,
    }


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


def _identity(create: CreateCluster) -> aks.ManagedClusterIdentityArgs:
    if create.identity is None:
        return aks.ManagedClusterIdentityArgs(type=aks.ResourceIdentityType.SYSTEM_ASSIGNED)
    return aks.ManagedClusterIdentityArgs(
        type=aks.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=[create.identity]
    )


def _access(settings: AksClusterSettings) -> dict[str, Any]:
    access = settings.access
    groups: list[pulumi.Input[str]] = list(access.admin_groups) if access else []
    ranges: list[pulumi.Input[str]] = list(access.authorized_ranges) if access else []
    return {
        "aad_profile": aks.ManagedClusterAADProfileArgs(
            managed=True, enable_azure_rbac=True, admin_group_object_ids=groups or None
        ),
        "api_server_access_profile": aks.ManagedClusterAPIServerAccessProfileArgs(
            enable_private_cluster=access.private if access else None, authorized_ip_ranges=ranges or None
        ),
    }


def _system_pool(kubernetes: str, settings: AksClusterSettings) -> aks.ManagedClusterAgentPoolProfileArgs:
    system = settings.system_pool
    return aks.ManagedClusterAgentPoolProfileArgs(
        name=SYSTEM_POOL,
        mode="System",
        vm_size=system.machine,
        os_type="Linux",
        os_sku="AzureLinux3",
        orchestrator_version=kubernetes,
        availability_zones=list(system.zones) or None,
        node_taints=["CriticalAddonsOnly=true:NoSchedule"],
        **_scale(system.nodes.min, system.nodes.max),
    )


def _scale(least: int, most: int) -> dict[str, Any]:
    if least == most:
        return {"count": least, "enable_auto_scaling": False}
    return {"count": least, "enable_auto_scaling": True, "min_count": least, "max_count": most}


def _upgrade(pool: AksPoolSettings) -> aks.AgentPoolUpgradeSettingsArgs:
    upgrade = pool.upgrade
    return aks.AgentPoolUpgradeSettingsArgs(
        max_surge=upgrade.surge or "0",
        max_unavailable="0" if upgrade.surge else upgrade.unavailable or "1",
        drain_timeout_in_minutes=upgrade.drain_timeout,
        undrainable_node_behavior="Cordon",
    )
