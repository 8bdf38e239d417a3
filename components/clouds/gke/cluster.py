"""A cluster of Google Kubernetes Engine, created or adopted, with its node pools and driver installers.

Nothing secret gets into the state: the kubeconfig asks gke-gcloud-auth-plugin for each token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pulumi
import pulumi_gcp
from pulumi_gcp import container, organizations
from pulumi_kubernetes import apiextensions
from pulumi_kubernetes.meta import v1 as meta

from ...core.naming import logical
from ..adopting import readable
from ..logins import of_account
from ..platform import Platform, cluster_opts
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

    from dra_fleet.clouds.gke.cluster_plan import GkeClusterPlan, GkeCreation
    from dra_fleet.model.plan import ClusterPlan

    from ..logins import Logins
    from ..platform import ClusterMade, Declaration, SecretReader


_NETWORK = "the name of a network"


@dataclass(frozen=True, kw_only=True)
class GkeClusterArgs:
    """What a GKE cluster takes.

    Attributes:
        plan: what Google is asked for.
        logins: those of the whole program, where there is one.
    """

    plan: GkeClusterPlan
    logins: Logins | None = None


@dataclass(frozen=True, kw_only=True)
class _GkePlace:
    """Which cluster it is in GKE, what Google tells of it, and what must be there before pools are added."""

    name: pulumi.Input[str]
    found: pulumi.Output[container.GetClusterResult]
    cluster: ClusterMade
    after: Sequence[pulumi.Resource]


class GkeCluster(Platform):
    """A GKE cluster. Its control plane is protected with the component; pools come and go."""

    TOKEN = "dra-fleet:clouds:GkeCluster"  # noqa: S105 - a type token

    def __init__(self, name: str, args: GkeClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        plan = args.plan
        super().__init__(
            name,
            {
                "cloud": "gke",
                "kubernetes": plan.kubernetes,
                "project": plan.project,
                "location": plan.location,
                "adopted": plan.creates is None,
            },
            opts,
        )
        google = pulumi_gcp.Provider(
            logical(name, "google"),
            project=plan.project,
            region=plan.region,
            zone=plan.zone,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.admit(args.logins, self._login(name, plan, google))
        place = (
            self._adopted(name, plan, google)
            if plan.creates is None
            else self._created(name, plan, plan.creates, google)
        )
        pools = self._pools(name, plan, place, google)
        kubeconfig = pulumi.Output.secret(place.found.apply(lambda found: _login(name, found)))
        provider = self.enter(name, kubeconfig, cluster=place.cluster, after=[*place.after, *pools])
        self.installers = self._installers(name, plan)
        self._compute_classes(name, plan)
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @classmethod
    def planned(cls, plan: ClusterPlan, secret: SecretReader, logins: Logins) -> Declaration:
        """Take what Google is asked for; it needs no secret."""
        del secret
        args = GkeClusterArgs(plan=cast("GkeClusterPlan", plan.own), logins=logins)
        return lambda opts: cls(plan.name, args, opts)

    def _login(self, name: str, plan: GkeClusterPlan, google: pulumi_gcp.Provider) -> pulumi.Output[str]:
        asked = organizations.get_project_output(
            project_id=plan.project, opts=pulumi.InvokeOutputOptions(parent=self, provider=google)
        )
        return of_account(
            asked,
            lambda project: project.project_id or "",
            name,
            "project",
            plan.project,
            known_as="Google Cloud project",
        )

    def _created(
        self, name: str, plan: GkeClusterPlan, creation: GkeCreation, google: pulumi_gcp.Provider
    ) -> _GkePlace:
        # Protected with the component: the options are its own, not those of what lives in the cluster.
        opts = pulumi.ResourceOptions(parent=self, provider=google, depends_on=self._after)
        network = self.elsewhere.text(creation.network, _NETWORK)
        subnetwork = self.elsewhere.given(creation.subnetwork, _NETWORK)
        cluster = container.Cluster(
            name, cluster_arguments(plan, creation, network, subnetwork), opts=cluster_opts(opts)
        )
        system = container.NodePool(
            logical(name, SYSTEM_POOL),
            system_pool_arguments(cluster.name, plan, creation.system),
            opts=self._pool_opts(google, [cluster]),
        )
        # GKE taints GPU nodes by itself only where other nodes are there already.
        after = [cluster, system]
        found = self._found(cluster.name, plan, google, after)
        return _GkePlace(name=cluster.name, found=found, cluster=cluster, after=after)

    def _adopted(self, name: str, plan: GkeClusterPlan, google: pulumi_gcp.Provider) -> _GkePlace:
        adopted = plan.adopts or plan.name
        known = self.elsewhere.text(adopted, "the cluster's name in GKE")
        found = readable(
            self._found(known, plan, google, ()),
            name,
            known_as=f"GKE cluster {adopted} in {plan.location} of project {plan.project}",
            listing=f"gcloud container clusters list --project {plan.project}",
            permission="the permission container.clusters.get",
        )
        # Its pools wait for the answer: none is asked for in a cluster that is not there.
        there = found.apply(lambda _: known)
        return _GkePlace(name=there, found=found, cluster=(plan.project, plan.location, known), after=[])

    def _found(
        self,
        name: pulumi.Input[str],
        plan: GkeClusterPlan,
        google: pulumi_gcp.Provider,
        after: Sequence[pulumi.Resource],
    ) -> pulumi.Output[container.GetClusterResult]:
        """Ask Google where the API server is, each time: its address is no part of what was declared."""
        return container.get_cluster_output(
            name=name,
            location=plan.location,
            project=plan.project,
            opts=pulumi.InvokeOutputOptions(parent=self, provider=google, depends_on=list(after)),
        )

    def _pools(
        self, name: str, plan: GkeClusterPlan, place: _GkePlace, google: pulumi_gcp.Provider
    ) -> list[container.NodePool]:
        return [
            container.NodePool(
                logical(name, pool.key),
                pool_arguments(place.name, plan, pool),
                opts=self._pool_opts(google, place.after),
            )
            for pool in plan.pools
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

    def _installers(self, name: str, plan: GkeClusterPlan) -> list[pulumi.Resource]:
        """The driver installers: one for each kind of node."""
        opts = self.member_opts()
        return [
            driver_installer(logical(name, f"driver-{installer}"), installer, pools, opts)
            for installer, pools in sorted(plan.installers.items())
        ]

    def _compute_classes(self, name: str, plan: GkeClusterPlan) -> None:
        """Which pool the autoscaler grows first, by the pools' names in GKE."""
        for compute_class, pools in sorted(plan.compute_classes.items()):
            apiextensions.CustomResource(
                logical(name, f"compute-class-{compute_class}"),
                api_version="cloud.google.com/v1",
                kind="ComputeClass",
                metadata=meta.ObjectMetaArgs(name=compute_class),
                spec={
                    "priorities": [{"nodepools": [pool]} for pool in pools],
                    "whenUnsatisfiable": "DoNotScaleUp",
                },
                opts=self.member_opts(),
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
