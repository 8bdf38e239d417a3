"""An AKS cluster in plain azure-native, as any program has it."""

import pulumi
import pulumi_azure_native as azure

aks = azure.containerservice


def managed_cluster(
    name: str, *, region: str, kubernetes_version: str
) -> tuple[azure.resources.ResourceGroup, aks.ManagedCluster]:
    """Declare a resource group with a cluster that has a system pool and no GPUs.

    Args:
        name: Name of both.
        region: Azure region.
        kubernetes_version: Kubernetes version, such as "1.36".
    """
    login = pulumi.ResourceOptions(provider=azure.Provider("azure"))
    group = azure.resources.ResourceGroup(name, location=region, opts=login)
    system = aks.ManagedClusterAgentPoolProfileArgs(
        name="system",
        mode="System",
        count=2,
        vm_size="Standard_D4ds_v5",
        os_type="Linux",
        os_sku="Ubuntu",
        orchestrator_version=kubernetes_version,
    )
    cluster = aks.ManagedCluster(
        name,
        resource_group_name=group.name,
        location=region,
        dns_prefix=name,
        kubernetes_version=kubernetes_version,
        identity=aks.ManagedClusterIdentityArgs(type=aks.ResourceIdentityType.SYSTEM_ASSIGNED),
        disable_local_accounts=True,
        enable_rbac=True,
        aad_profile=aks.ManagedClusterAADProfileArgs(managed=True, enable_azure_rbac=True),
        api_server_access_profile=aks.ManagedClusterAPIServerAccessProfileArgs(
            authorized_ip_ranges=["203.0.113.0/24"]
        ),
        auto_upgrade_profile=aks.ManagedClusterAutoUpgradeProfileArgs(
            upgrade_channel="none", node_os_upgrade_channel="None"
        ),
        network_profile=aks.ContainerServiceNetworkProfileArgs(
            network_plugin="azure", network_plugin_mode="overlay"
        ),
        agent_pool_profiles=[system],
        opts=login,
    )
    return group, cluster
