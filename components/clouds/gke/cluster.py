"""A cluster of Google Kubernetes Engine, created or adopted, with its node pools and driver installers.

Nothing secret gets into the state: the kubeconfig asks gke-gcloud-auth-plugin for each token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
import pulumi_gcp
from pulumi_gcp import container
from pulumi_kubernetes import apiextensions
from pulumi_kubernetes.meta import v1 as meta

from dra_fleet.clouds.gke.names import is_zone, region_of
from dra_fleet.clouds.gke.pools import installer_of, pool_name
from dra_fleet.clouds.gke.settings import GkeClusterSettings

from ...core.naming import logical
from ..adopting import readable
from ..platform import Platform
from .arguments import (
    SYSTEM_POOL,
    cluster_arguments,
    pool_arguments,
    system_pool_arguments,
)
from .installer import driver_installer
from .kubeconfig import login_kubeconfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pulumi_kubernetes

    from dra_fleet.clouds.gke.settings import AdoptGkeCluster
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    from ..platform import Declaration, SecretReader


@dataclass(frozen=True, kw_only=True)
class GkeClusterArgs:
    """What a GKE cluster takes.

    Attributes:
        kubernetes: the minor of the control plane, such as "1.36".
        settings: the cluster's section of the stack file, checked.
        pools: the planned pools, with the labels and taints of their nodes.
    """

    kubernetes: str
    settings: GkeClusterSettings
    pools: Sequence[PoolPlan]


@dataclass(frozen=True, kw_only=True)
class _Place:
    """The cluster's name in GKE, what Google tells of it, and what must be there before pools are added."""

    name: pulumi.Input[str]
    found: pulumi.Output[container.GetClusterResult]
    after: Sequence[pulumi.Resource]


class GkeCluster(Platform):
    """A GKE cluster. Its control plane is protected with the component; pools come and go."""

    TOKEN = "dra-fleet:platforms:GkeCluster"  # noqa: S105 - a type token

    def __init__(self, name: str, args: GkeClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        settings = args.settings
        super().__init__(
            name,
            {
                "cloud": "gke",
                "kubernetes": args.kubernetes,
                "project": settings.project,
                "location": settings.location,
                "adopted": settings.adopt is not None,
            },
            opts,
        )
        google = pulumi_gcp.Provider(
            logical(name, "google"),
            project=settings.project,
            region=region_of(settings.location),
            zone=settings.location if is_zone(settings.location) else None,
            opts=pulumi.ResourceOptions(parent=self),
        )
        place = self._place(name, args, google)
        pools = self._pools(name, args, place, google)
        kubeconfig = pulumi.Output.secret(place.found.apply(lambda found: _login(name, found)))
        provider = self.enter(name, kubeconfig, after=[*place.after, *pools])
        self._first = self._installers(name, args, provider)
        self._compute_classes(name, args, provider)
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @classmethod
    def planned(cls, plan: ClusterPlan, secret: SecretReader) -> Declaration:
        """Take the cluster's settings; it needs no secret."""
        del secret
        settings = plan.settings
        if not isinstance(settings, GkeClusterSettings):
            raise TypeError(f"cluster {plan.name} is no GKE cluster but {plan.cloud}")
        args = GkeClusterArgs(kubernetes=plan.kubernetes, settings=settings, pools=plan.pools)
        return lambda opts: cls(plan.name, args, opts)

    def member_opts(self, depends_on: Sequence[pulumi.Resource] = ()) -> pulumi.ResourceOptions:
        """Options of a component that lives in this cluster: it comes after the GPU drivers."""
        return super().member_opts([*self._first, *depends_on])

    def _place(self, name: str, args: GkeClusterArgs, google: pulumi_gcp.Provider) -> _Place:
        settings = args.settings
        if settings.adopt is not None:
            return self._adopted(name, settings, settings.adopt, google)
        # Protected with the component: the options are its own, not those of what lives in the cluster.
        opts = pulumi.ResourceOptions(parent=self, provider=google, depends_on=self._after)
        cluster = container.Cluster(name, cluster_arguments(name, args.kubernetes, settings), opts=opts)
        system = container.NodePool(
            logical(name, SYSTEM_POOL),
            system_pool_arguments(cluster.name, settings),
            opts=self._pool_opts(google, [cluster]),
        )
        # GKE taints GPU nodes by itself only where other nodes are there already.
        after = [cluster, system]
        return _Place(
            name=cluster.name, found=self._found(cluster.name, settings, google, after), after=after
        )

    def _adopted(
        self, name: str, settings: GkeClusterSettings, adopt: AdoptGkeCluster, google: pulumi_gcp.Provider
    ) -> _Place:
        found = readable(
            self._found(adopt.name, settings, google, ()),
            name,
            known_as=f"GKE cluster {adopt.name} in {settings.location} of project {settings.project}",
            listing=f"gcloud container clusters list --project {settings.project}",
            permission="the permission container.clusters.get",
        )
        # Its pools wait for the answer: none is asked for in a cluster that is not there.
        return _Place(name=found.apply(lambda _: adopt.name), found=found, after=[])

    def _found(
        self,
        name: pulumi.Input[str],
        settings: GkeClusterSettings,
        google: pulumi_gcp.Provider,
        after: Sequence[pulumi.Resource],
    ) -> pulumi.Output[container.GetClusterResult]:
        """Ask Google where the API server is, each time: its address is no part of what was declared."""
        return container.get_cluster_output(
            name=name,
            location=settings.location,
            project=settings.project,
            opts=pulumi.InvokeOutputOptions(parent=self, provider=google, depends_on=list(after)),
        )

    def _pools(
        self, name: str, args: GkeClusterArgs, place: _Place, google: pulumi_gcp.Provider
    ) -> list[container.NodePool]:
        return [
            container.NodePool(
                logical(name, plan.name),
                pool_arguments(place.name, plan, args.settings),
                opts=self._pool_opts(google, place.after),
            )
            for plan in args.pools
        ]

    def _pool_opts(
        self, google: pulumi_gcp.Provider, after: Sequence[pulumi.Resource]
    ) -> pulumi.ResourceOptions:
        return self.child_opts(
            pulumi.ResourceOptions(
                provider=google,
                depends_on=list(after),
                # Only counts at the beginning; another number would make the pool anew.
                ignore_changes=["initialNodeCount"],
            )
        )

    def _installers(
        self, name: str, args: GkeClusterArgs, provider: pulumi_kubernetes.Provider
    ) -> list[pulumi.Resource]:
        """The driver installers: one for each kind of node."""
        wanted: dict[str, list[str]] = {}
        for plan in args.pools:
            installer = installer_of(plan, args.settings.pools[plan.name])
            if installer is not None:
                wanted.setdefault(installer, []).append(plan.name)
        opts = self.child_opts(pulumi.ResourceOptions(provider=provider))
        return [
            driver_installer(logical(name, f"driver-{installer}"), installer, pools, opts)
            for installer, pools in sorted(wanted.items())
        ]

    def _compute_classes(self, name: str, args: GkeClusterArgs, provider: pulumi_kubernetes.Provider) -> None:
        """Which pool the autoscaler grows first, by the pools' names in GKE."""
        plans = {plan.name: plan for plan in args.pools}
        for compute_class, settings in sorted(args.settings.compute_classes.items()):
            pools = [pool_name(plans[pool], args.settings.pools[pool]) for pool in settings.priorities]
            apiextensions.CustomResource(
                logical(name, f"compute-class-{compute_class}"),
                api_version="cloud.google.com/v1",
                kind="ComputeClass",
                metadata=meta.ObjectMetaArgs(name=compute_class),
                spec={
                    "priorities": [{"nodepools": [pool]} for pool in pools],
                    "whenUnsatisfiable": "DoNotScaleUp",
                },
                opts=self.child_opts(pulumi.ResourceOptions(provider=provider)),
            )


def _login(name: str, cluster: container.GetClusterResult) -> str:
    """The kubeconfig for the DNS endpoint, or for the address of a cluster that has none."""
    names = [
        dns.endpoint
        for config in cluster.control_plane_endpoints_configs
        for dns in config.dns_endpoint_configs
    ]
    host = next((endpoint for endpoint in names if endpoint), cluster.endpoint)
    authority = next((auth.cluster_ca_certificate for auth in cluster.master_auths), "")
    return login_kubeconfig(name, host, authority)


COMPONENT = GkeCluster
