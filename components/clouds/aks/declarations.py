"""The plan of an AKS cluster, declared field by field with typed arguments. Nothing is decided here.

Resources are declared here, not their Args: of AgentPoolArgs and ManagedClusterArgs the SDK unpacks
`resource_name` onto its own parameter of that name.
Source: https://learn.microsoft.com/en-us/rest/api/aks/ (2025-09-01).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi_azure_native.containerservice as aks

if TYPE_CHECKING:
    import pulumi

    from dra_fleet.clouds.aks.cluster_plan import (
        AksClusterPlan,
        AksCreation,
        AksPoolPlan,
        AksSystemPoolPlan,
        AksWindowPlan,
    )

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
    plan: AksClusterPlan,
    creation: AksCreation,
    *,
    system_nodes: pulumi.Input[int],
    opts: pulumi.ResourceOptions,
) -> aks.ManagedCluster:
    """The control plane with its system pool.

    Args:
        name: logical.
        group: the name of its resource group.
        plan: the whole cluster's.
        creation: what is asked for of one that is created.
        system_nodes: how many nodes its system pool is asked for.
        opts: parent and provider.
    """
    return aks.ManagedCluster(
        name,
        resource_group_name=group,
        resource_name_=plan.name,
        location=plan.region,
        dns_prefix=creation.dns_prefix,
        kubernetes_version=plan.kubernetes,
        identity=_identity(creation.identity),
        sku=aks.ManagedClusterSKUArgs(
            name=creation.sku, tier="Premium" if creation.long_term_support else "Standard"
        ),
        support_plan="AKSLongTermSupport" if creation.long_term_support else "KubernetesOfficial",
        disable_local_accounts=True,
        enable_rbac=True,
        oidc_issuer_profile=aks.ManagedClusterOIDCIssuerProfileArgs(enabled=True),
        security_profile=aks.ManagedClusterSecurityProfileArgs(
            workload_identity=aks.ManagedClusterSecurityProfileWorkloadIdentityArgs(enabled=True)
        ),
        auto_upgrade_profile=aks.ManagedClusterAutoUpgradeProfileArgs(
            upgrade_channel=creation.upgrade_channel, node_os_upgrade_channel=creation.node_image_channel
        ),
        network_profile=aks.ContainerServiceNetworkProfileArgs(
            network_plugin="azure", network_plugin_mode="overlay", network_dataplane="cilium"
        ),
        auto_scaler_profile=aks.ManagedClusterPropertiesAutoScalerProfileArgs(
            expander="priority" if plan.priorities else "random"
        ),
        agent_pool_profiles=[_system_pool(plan.kubernetes, creation.system, system_nodes)],
        aad_profile=aks.ManagedClusterAADProfileArgs(
            managed=True, enable_azure_rbac=True, admin_group_object_ids=list(creation.admin_groups) or None
        ),
        api_server_access_profile=aks.ManagedClusterAPIServerAccessProfileArgs(
            enable_private_cluster=creation.private,
            authorized_ip_ranges=list(creation.authorized_ranges) or None,
        ),
        opts=opts,
    )


def declare_pool(
    name: str, home: PoolHome, pool: AksPoolPlan, count: pulumi.Input[int], opts: pulumi.ResourceOptions
) -> aks.AgentPool:
    """A pool of GPU nodes.

    Args:
        name: logical.
        home: the cluster it is added to.
        pool: what is asked for.
        count: how many nodes.
        opts: parent and provider, and what must be there before it.
    """
    least, most = pool.scale.bounds or (None, None)
    return aks.AgentPool(
        name,
        resource_group_name=home.group,
        resource_name_=home.cluster,
        agent_pool_name=pool.name,
        mode="User",
        type=pool.type,
        vm_size=pool.vm_size,
        os_type=pool.os_type,
        os_sku=pool.os_sku,
        orchestrator_version=home.kubernetes,
        count=count,
        enable_auto_scaling=pool.scale.bounds is not None,
        min_count=least,
        max_count=most,
        scale_down_mode="Delete",
        node_labels=dict(pool.labels),
        node_taints=[f"{taint.key}={taint.value}:{taint.effect}" for taint in pool.taints],
        availability_zones=list(pool.zones) or None,
        gpu_profile=None
        if pool.gpu_driver is None
        else aks.GPUProfileArgs(driver="Install" if pool.gpu_driver else "None"),
        gpu_instance_profile=pool.gpu_instance_profile,
        capacity_reservation_group_id=pool.capacity_reservation_group,
        upgrade_settings=aks.AgentPoolUpgradeSettingsArgs(
            max_surge=pool.upgrade.surge,
            max_unavailable=pool.upgrade.unavailable,
            drain_timeout_in_minutes=pool.upgrade.drain_timeout,
            undrainable_node_behavior="Cordon",
        ),
        scale_set_priority="Spot" if pool.spot else "Regular",
        scale_set_eviction_policy="Delete" if pool.spot else None,
        spot_max_price=-1 if pool.spot else None,
        opts=opts,
    )


def window_arguments(window: AksWindowPlan) -> aks.MaintenanceWindowArgs:
    """A weekly window in UTC."""
    return aks.MaintenanceWindowArgs(
        schedule=aks.ScheduleArgs(
            weekly=aks.WeeklyScheduleArgs(day_of_week=aks.WeekDay(window.day), interval_weeks=1)
        ),
        start_time=window.start,
        duration_hours=window.hours,
        utc_offset="+00:00",
    )


def _identity(identity: str | None) -> aks.ManagedClusterIdentityArgs:
    if identity is None:
        return aks.ManagedClusterIdentityArgs(type=aks.ResourceIdentityType.SYSTEM_ASSIGNED)
    return aks.ManagedClusterIdentityArgs(
        type=aks.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=[identity]
    )


def _system_pool(
    kubernetes: str, system: AksSystemPoolPlan, count: pulumi.Input[int]
) -> aks.ManagedClusterAgentPoolProfileArgs:
    least, most = system.scale.bounds or (None, None)
    return aks.ManagedClusterAgentPoolProfileArgs(
        name=SYSTEM_POOL,
        mode="System",
        vm_size=system.vm_size,
        os_type="Linux",
        os_sku="AzureLinux3",
        orchestrator_version=kubernetes,
        availability_zones=list(system.zones) or None,
        node_taints=["CriticalAddonsOnly=true:NoSchedule"],
        count=count,
        enable_auto_scaling=system.scale.bounds is not None,
        min_count=least,
        max_count=most,
    )
