"""`EksCluster`: a cluster of Elastic Kubernetes Service with its GPU node groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..clouds.eks import cluster as eks
from ..clouds.platform import ClusterArgs
from .arguments import checked, named
from .cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pulumi

    from .arguments import GpuNodePoolArgs, GpuNodePoolArgsDict
    from .cluster import Environment


class EksCluster(Cluster, eks.EksCluster):
    """A cluster of Elastic Kubernetes Service, created or adopted, with its GPU node groups.

    Args:
        name: Name of the cluster, also in AWS.
        region: AWS region, such as `us-east-1`.
        kubernetes_version: Kubernetes version, such as "1.36".
        pools: GPU node groups by name.
        access: Access to the API server: `{"public_ranges": […]}` or `{"private": True}`. Required for a
            created cluster.
        subnets: Subnet of each zone, also as Outputs; or `network`.
        network: A small VPC that is created: `{"zones": […]}`.
        cluster_role: ARN of the cluster's role, also as an Output. Default: a created one.
        node_role: ARN of the nodes' role, also as an Output. Default: a created one.
        encryption_key: ARN of a KMS key that encrypts Secrets, also as an Output.
        logs: Control-plane logs that CloudWatch receives, such as `["api", "audit"]`.
        adopt: An existing cluster instead: `{"name": …, "subnets": {…}}`, also as Outputs.
        account: Account id, which must be the login's.
        support: `STANDARD` (default) or `EXTENDED`.
        karpenter: Version of Karpenter, which creates the nodes of pools with `karpenter`.
        addons: Further add-ons and their versions.
        system_pool: Node group of the cluster's own pods.
        gpu_operator: NVIDIA's GPU operator: `{"version": …, "values": {…}}`.
        tags: Tags of all its resources in the cloud.
        extra: Further arguments of the provider's cluster resource, which no rule checks.
        owner: Value of the label `dra-fleet/owner`. Default: the project's name.
        environment: `production` is proved more strictly.
        opts: Resource options.

    Examples:
        ```python
        cluster = dra.EksCluster(
            "train",
            region="us-east-1",
            kubernetes_version="1.35",
            access={"public_ranges": ["203.0.113.0/24"]},
            network={"zones": ["us-east-1a", "us-east-1b"]},
            pools={"h100": {"machine": "p5.4xlarge", "min": 2, "max": 2}},
        )
        ```
    """

    CLOUD = "eks"

    @checked
    def __init__(
        self,
        name: str,
        *,
        region: str,
        kubernetes_version: str,
        pools: Mapping[str, GpuNodePoolArgs | GpuNodePoolArgsDict],
        access: Mapping[str, Any] | None = None,
        subnets: Mapping[str, pulumi.Input[str]] | None = None,
        network: Mapping[str, Any] | None = None,
        cluster_role: pulumi.Input[str] | None = None,
        node_role: pulumi.Input[str] | None = None,
        encryption_key: pulumi.Input[str] | None = None,
        logs: Sequence[str] | None = None,
        adopt: Mapping[str, Any] | None = None,
        account: str | None = None,
        support: str | None = None,
        karpenter: str | None = None,
        addons: Mapping[str, str] | None = None,
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
                "account": account,
                "support": support,
                "karpenter": karpenter,
                "addons": addons,
                "system_pool": system_pool,
                "gpu_operator": gpu_operator,
            },
            create={
                "subnets": subnets,
                "network": network,
                "cluster_role": cluster_role,
                "node_role": node_role,
                "encryption_key": encryption_key,
                "logs": logs,
            },
            adopt=adopt,
            extra=extra,
        )
        eks.EksCluster.__init__(self, name, ClusterArgs(plan=plan), opts)
        self.begin(plan)
