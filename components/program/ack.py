"""`AckCluster`: a cluster of Alibaba Cloud's Container Service with its GPU pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..clouds.ack import cluster as ack
from ..clouds.platform import ClusterArgs
from .arguments import checked, named
from .cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pulumi

    from .arguments import GpuNodePoolArgs, GpuNodePoolArgsDict
    from .cluster import Environment


class AckCluster(Cluster, ack.AckCluster):
    """A cluster of Alibaba Cloud's Container Service, created or adopted, with its GPU pools.

    Args:
        name: Name of the cluster, also in Alibaba Cloud.
        region: Region, such as `ap-southeast-1`.
        kubernetes_version: Kubernetes version, such as "1.36".
        pools: GPU pools by name.
        access: Access to the API server: `{"public": False}` or `{"public": True}`. Required for a created
            cluster.
        vswitches: vSwitch of each zone, also as Outputs; or `network`.
        network: A small VPC that is created: `{"zones": […]}`.
        encryption_key: Id of a KMS key that encrypts Secrets, also as an Output.
        logs: Control-plane logs that Simple Log Service receives, such as `["apiserver"]`.
        adopt: An existing cluster instead: `{"id": …, "vswitches": {…}}`, also as Outputs.
        account: Account id, which must be the login's.
        version: Exact version of ACK. Default: the newest one of the Kubernetes version.
        edition: `ack.pro.small` (default) or `ack.standard`.
        registry: Mirror of the drivers' images.
        system_pool: Pool of the cluster's own pods.
        tags: Tags of all its resources in the cloud.
        extra: Further arguments of the provider's cluster resource, which no rule checks.
        owner: Value of the label `dra-fleet/owner`. Default: the project's name.
        environment: `production` is proved more strictly.
        opts: Resource options.

    Examples:
        ```python
        cluster = dra.AckCluster(
            "asia",
            region="ap-southeast-1",
            kubernetes_version="1.36",
            access={"public": False},
            network={"zones": ["ap-southeast-1a", "ap-southeast-1b"]},
            pools={"a10": {"machine": "ecs.gn7i-c8g1.2xlarge", "min": 2, "max": 3}},
        )
        ```
    """

    CLOUD = "ack"

    @checked
    def __init__(
        self,
        name: str,
        *,
        region: str,
        kubernetes_version: str,
        pools: Mapping[str, GpuNodePoolArgs | GpuNodePoolArgsDict],
        access: Mapping[str, bool] | None = None,
        vswitches: Mapping[str, pulumi.Input[str]] | None = None,
        network: Mapping[str, Any] | None = None,
        encryption_key: pulumi.Input[str] | None = None,
        logs: Sequence[str] | None = None,
        adopt: Mapping[str, Any] | None = None,
        account: str | None = None,
        version: str | None = None,
        edition: str | None = None,
        registry: str | None = None,
        system_pool: Mapping[str, Any] | None = None,
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
                "version": version,
                "edition": edition,
                "registry": registry,
                "system_pool": system_pool,
            },
            create={
                "vswitches": vswitches,
                "network": network,
                "encryption_key": encryption_key,
                "logs": logs,
            },
            adopt=adopt,
            extra=extra,
        )
        ack.AckCluster.__init__(self, name, ClusterArgs(plan=plan), opts)
        self.begin(plan)
