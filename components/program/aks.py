"""`AksCluster`: a cluster of Azure Kubernetes Service with its GPU pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..clouds.aks import cluster as aks
from ..clouds.platform import ClusterArgs
from .arguments import checked, named
from .cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pulumi

    from .arguments import GpuNodePoolArgs, GpuNodePoolArgsDict
    from .cluster import Environment


class AksCluster(Cluster, aks.AksCluster):
    """A cluster of Azure Kubernetes Service, created or adopted, with its GPU pools.

    Args:
        name: Name of the cluster, also in Azure.
        region: Azure region, such as `westeurope`.
        kubernetes_version: Kubernetes version, such as "1.36".
        pools: GPU pools by name.
        access: Access to the API server: `{"authorized_ranges": […]}` or `{"private": True}`. Required for a
            created cluster.
        resource_group: Name of the resource group that is created. Default: the cluster's name.
        identity: Id of a user-assigned identity. Default: a system-assigned one.
        subnet: Id of the subnet of all nodes, also as an Output. Default: AKS creates a virtual network.
        encryption_key: Id of a Key Vault key that encrypts Secrets, also as an Output; needs `identity`.
        logs: Control-plane logs: `{"workspace": …, "categories": […]}`.
        adopt: An existing cluster instead: `{"resource_group": …, "name": …}`, also as Outputs.
        subscription: Subscription id. Default: the login's.
        long_term_support: Two years of support for the Kubernetes version.
        upgrades: Automatic upgrades and their window.
        system_pool: Pool of the cluster's own pods.
        gpu_operator: NVIDIA's GPU operator: `{"version": …, "values": {…}}`.
        tags: Tags of all its resources in the cloud.
        extra: Further arguments of the provider's cluster resource, which no rule checks.
        owner: Value of the label `dra-fleet/owner`. Default: the project's name.
        environment: `production` is proved more strictly.
        opts: Resource options.

    Examples:
        ```python
        cluster = dra.AksCluster(
            "studio",
            region="westeurope",
            kubernetes_version="1.36",
            access={"authorized_ranges": ["203.0.113.0/24"]},
            pools={"a10": {"machine": "Standard_NV6ads_A10_v5", "min": 1, "max": 4}},
        )
        ```
    """

    CLOUD = "aks"

    @checked
    def __init__(
        self,
        name: str,
        *,
        region: str,
        kubernetes_version: str,
        pools: Mapping[str, GpuNodePoolArgs | GpuNodePoolArgsDict],
        access: Mapping[str, Any] | None = None,
        resource_group: str | None = None,
        identity: pulumi.Input[str] | None = None,
        subnet: pulumi.Input[str] | None = None,
        encryption_key: pulumi.Input[str] | None = None,
        logs: Mapping[str, Any] | None = None,
        adopt: Mapping[str, pulumi.Input[str]] | None = None,
        subscription: str | None = None,
        long_term_support: bool | None = None,
        upgrades: Mapping[str, Any] | None = None,
        system_pool: Mapping[str, Any] | None = None,
        gpu_operator: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
        owner: str | None = None,
        environment: Environment = "development",
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        plan = self.prepare(
            name,
            named(self, name),
            kubernetes_version=kubernetes_version,
            pools=pools,
            owner=owner,
            environment=environment,
            settings={
                "tags": tags,
                "region": region,
                "access": access,
                "subscription": subscription,
                "long_term_support": long_term_support,
                "upgrades": upgrades,
                "system_pool": system_pool,
                "gpu_operator": gpu_operator,
            },
            create={
                "resource_group": name if resource_group is None else resource_group,
                "identity": identity,
                "encryption_key": encryption_key,
                "logs": logs,
                "subnet": subnet,
            },
            adopt=adopt,
            extra=extra,
        )
        aks.AksCluster.__init__(self, name, ClusterArgs(plan=plan), opts)
        self.begin(plan)
