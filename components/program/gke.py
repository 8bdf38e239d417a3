"""`GkeCluster`: a cluster of Google Kubernetes Engine with its GPU pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..clouds.gke import cluster as gke
from ..clouds.platform import ClusterArgs
from .arguments import checked, named
from .cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pulumi

    from .arguments import GpuNodePoolArgs, GpuNodePoolArgsDict
    from .cluster import Environment


class GkeCluster(Cluster, gke.GkeCluster):
    """A cluster of Google Kubernetes Engine, created or adopted, with its GPU pools.

    Args:
        name: Name of the cluster, also in Google Cloud.
        project: Id of the Google Cloud project.
        location: Region, or a zone for a zonal cluster.
        kubernetes_version: Kubernetes version, such as "1.36".
        pools: GPU pools by name.
        access: Access to the API server: `{"external": True}` if its DNS name answers from outside Google
            Cloud. Required for a created cluster.
        network: Network, also as an Output. Default: `default`.
        subnetwork: Subnetwork, also as an Output.
        private_nodes: Create nodes without public addresses.
        encryption_key: Cloud KMS key that encrypts Secrets, also as an Output.
        logs: Logs besides those of the system, such as `["APISERVER"]`.
        adopt: An existing cluster instead: `{"name": …}`, also as an Output.
        version: Exact version of GKE. Default: the channel's default of the Kubernetes version.
        datapath: `ADVANCED_DATAPATH` (default) or `LEGACY_DATAPATH`.
        upgrades: Release channel and maintenance window.
        system_pool: Pool of the cluster's own pods.
        compute_classes: Pools in the order in which the autoscaler grows them, by class.
        tags: Tags of all its resources in the cloud; labels on Google Cloud.
        extra: Further arguments of the provider's cluster resource, which no rule checks.
        owner: Value of the label `dra-fleet/owner`. Default: the project's name.
        environment: `production` is proved more strictly.
        opts: Resource options.

    Examples:
        ```python
        cluster = dra.GkeCluster(
            "render",
            project="ml-render",
            location="us-central1",
            kubernetes_version="1.35",
            access={"external": True},
            pools={"l4": {"machine": "g2-standard-24", "min": 1, "max": 2, "zones": ["us-central1-a"]}},
        )
        ```
    """

    CLOUD = "gke"

    @checked
    def __init__(
        self,
        name: str,
        *,
        project: str,
        location: str,
        kubernetes_version: str,
        pools: Mapping[str, GpuNodePoolArgs | GpuNodePoolArgsDict],
        access: Mapping[str, bool] | None = None,
        network: pulumi.Input[str] | None = None,
        subnetwork: pulumi.Input[str] | None = None,
        private_nodes: bool | None = None,
        encryption_key: pulumi.Input[str] | None = None,
        logs: Sequence[str] | None = None,
        adopt: Mapping[str, pulumi.Input[str]] | None = None,
        version: str | None = None,
        datapath: str | None = None,
        upgrades: Mapping[str, Any] | None = None,
        system_pool: Mapping[str, Any] | None = None,
        compute_classes: Mapping[str, Any] | None = None,
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
                "project": project,
                "location": location,
                "access": access,
                "version": version,
                "datapath": datapath,
                "upgrades": upgrades,
                "system_pool": system_pool,
                "compute_classes": compute_classes,
            },
            create={
                "network": network,
                "subnetwork": subnetwork,
                "private_nodes": private_nodes,
                "encryption_key": encryption_key,
                "logs": logs,
            },
            adopt=adopt,
            extra=extra,
        )
        gke.GkeCluster.__init__(self, name, ClusterArgs(plan=plan), opts)
        self.begin(plan)
