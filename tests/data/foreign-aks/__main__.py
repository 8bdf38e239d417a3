"""A third-party program: an AKS cluster with a GPU pool, in plain pulumi_azure_native."""

import os

import pulumi
import pulumi_azure_native as azure

containers = azure.containerservice
group = azure.resources.ResourceGroup("team", location="westeurope")
cluster = containers.ManagedCluster(
    "legacy",
    resource_group_name=group.name,
    location="westeurope",
    dns_prefix="legacy",
    kubernetes_version=os.environ["KUBERNETES"],
    identity=containers.ManagedClusterIdentityArgs(type=containers.ResourceIdentityType.SYSTEM_ASSIGNED),
    agent_pool_profiles=[
        containers.ManagedClusterAgentPoolProfileArgs(
            name="system", mode="System", count=1, vm_size="Standard_D4ds_v5", os_type="Linux"
        ),
        containers.ManagedClusterAgentPoolProfileArgs(
            name="gpus", mode="User", count=1, vm_size="Standard_NC24ads_A100_v4", os_type="Linux"
        ),
    ],
)
if os.environ.get("NETWORK"):
    azure.network.RouteTable("own", resource_group_name=group.name, location="westeurope")
pulumi.export("cluster", cluster.name)
