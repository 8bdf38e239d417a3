"""A cluster of Azure Kubernetes Service, created or adopted, with its GPU pools.

Nothing secret gets into the state: local accounts are off, and the kubeconfig asks kubelogin for each token.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pulumi
import pulumi_azure_native
import pulumi_azure_native.containerservice as aks
from pulumi_azure_native import resources
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

from ...core.naming import logical
from ..adopting import readable
from ..logins import of_account
from ..platform import Platform, cluster_opts
from .declarations import (
    SYSTEM_POOL,
    PoolHome,
    declare_cluster,
    declare_pool,
    window_arguments,
)
from .kubeconfig import login_kubeconfig
from .sizes import PoolSizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.aks.cluster_plan import AksClusterPlan, AksCreation
    from dra_fleet.model.plan import ClusterPlan

    from ..logins import Logins
    from ..platform import ClusterMade, Declaration, SecretReader

_PRIORITIES = "cluster-autoscaler-priority-expander"
"""The ConfigMap that the autoscaler reads, by its exact name in kube-system."""


@dataclass(frozen=True, kw_only=True)
class AksClusterArgs:
    """What an AKS cluster takes.

    Attributes:
        plan: what Azure is asked for.
        logins: those of the whole program, where there is one.
    """

    plan: AksClusterPlan
    logins: Logins | None = None


@dataclass(frozen=True, kw_only=True)
class _AksPlace:
    """Which cluster it is in Azure, how its users get in, and what must be there before pools are added."""

    group: pulumi.Input[str]
    name: pulumi.Input[str]
    sizes: PoolSizes
    user: pulumi.Output[aks.ListManagedClusterUserCredentialsResult]
    cluster: ClusterMade
    after: Sequence[pulumi.Resource]


class AksCluster(Platform):
    """An AKS cluster. Its control plane is protected with the component; pools come and go."""

    TOKEN = "dra-fleet:clouds:AksCluster"  # noqa: S105 - a type token

    def __init__(self, name: str, args: AksClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        plan = args.plan
        super().__init__(
            name,
            {
                "cloud": "aks",
                "kubernetes": plan.kubernetes,
                "region": plan.region,
                "adopted": plan.creates is None,
            },
            opts,
        )
        azure = pulumi_azure_native.Provider(
            logical(name, "azure"),
            location=plan.region,
            subscription_id=plan.subscription,
            opts=pulumi.ResourceOptions(parent=self),
        )
        if plan.creates is None:
            place = self._adopted(name, plan, azure)
            self.admit(args.logins, place.user.apply(lambda _: name))
        else:
            self.admit(args.logins, self._login(name, plan, azure))
            place = self._created(name, plan, plan.creates, azure)
        pools = self._pools(name, plan, place, azure)
        kubeconfig = pulumi.Output.secret(
            place.user.apply(lambda user: login_kubeconfig(name, _encoded(user), plan.login))
        )
        provider = self.enter(name, kubeconfig, cluster=place.cluster, after=[*place.after, *pools])
        self._priorities(name, plan)
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @classmethod
    def planned(cls, plan: ClusterPlan, secret: SecretReader, logins: Logins) -> Declaration:
        """Take what Azure is asked for; it needs no secret."""
        del secret
        args = AksClusterArgs(plan=cast("AksClusterPlan", plan.own), logins=logins)
        return lambda opts: cls(plan.name, args, opts)

    def _login(
        self, name: str, plan: AksClusterPlan, azure: pulumi_azure_native.Provider
    ) -> pulumi.Output[str] | None:
        """Ask for its tags, which every subscription has.

        https://learn.microsoft.com/rest/api/resources/tags/get-at-scope
        """
        if plan.subscription is None:
            return None
        asked = resources.get_tag_at_scope_output(
            scope=f"/subscriptions/{plan.subscription}",
            opts=pulumi.InvokeOutputOptions(parent=self, provider=azure),
        )
        return of_account(
            asked,
            lambda tags: tags.id.split("/")[2].lower(),
            name,
            "subscription",
            plan.subscription,
            known_as="Azure subscription",
        )

    def _created(
        self, name: str, plan: AksClusterPlan, creation: AksCreation, azure: pulumi_azure_native.Provider
    ) -> _AksPlace:
        # Protected with the component: the options are its own, not those of what lives in the cluster.
        opts = pulumi.ResourceOptions(parent=self, provider=azure, depends_on=self._after)
        group = resources.ResourceGroup(
            logical(name, "group"),
            resource_group_name=self.elsewhere.text(plan.resource_group, "the name of its resource group"),
            location=plan.region,
            opts=opts,
        )
        sizes = PoolSizes(
            cluster=name, group=group.name, name=plan.name, made=group, parent=self, provider=azure
        )
        system_nodes = sizes.wanted(SYSTEM_POOL, creation.system.scale)
        cluster = declare_cluster(
            name, group.name, plan, creation, system_nodes=system_nodes, opts=cluster_opts(opts)
        )
        windows = [
            aks.MaintenanceConfiguration(
                logical(name, window.name),
                resource_group_name=group.name,
                resource_name_=cluster.name,
                config_name=window.name,
                maintenance_window=window_arguments(window),
                opts=self.child_opts(pulumi.ResourceOptions(provider=azure)),
            )
            for window in creation.windows
        ]
        after = [cluster, *windows]
        user = self._user(group.name, cluster.name, azure, after)
        return _AksPlace(
            group=group.name, name=cluster.name, sizes=sizes, user=user, cluster=cluster, after=after
        )

    def _adopted(self, name: str, plan: AksClusterPlan, azure: pulumi_azure_native.Provider) -> _AksPlace:
        adopted = plan.adopts or plan.name
        group = self.elsewhere.text(plan.resource_group, "the name of its resource group")
        known = self.elsewhere.text(adopted, "the cluster's name in Azure")
        user = readable(
            self._user(group, known, azure, ()),
            name,
            known_as=f"AKS cluster {adopted} in resource group {plan.resource_group}",
            listing="az aks list --output table",
            permission='the role "Azure Kubernetes Service Cluster User Role" on it',
        )
        # Its pools wait for the answer: none is asked for in a cluster that is not there.
        there = pulumi.Output.unsecret(user).apply(lambda _: known)
        sizes = PoolSizes(cluster=name, group=group, name=there, made=None, parent=self, provider=azure)
        return _AksPlace(
            group=group,
            name=there,
            sizes=sizes,
            user=user,
            cluster=(plan.subscription or "", group, known),
            after=[],
        )

    def _user(
        self,
        group: pulumi.Input[str],
        name: pulumi.Input[str],
        azure: pulumi_azure_native.Provider,
        after: Sequence[pulumi.Resource],
    ) -> pulumi.Output[aks.ListManagedClusterUserCredentialsResult]:
        """Ask Azure for the kubeconfig of a user, who logs in each time."""
        return aks.list_managed_cluster_user_credentials_output(
            resource_group_name=group,
            resource_name=name,
            format="exec",
            opts=pulumi.InvokeOutputOptions(parent=self, provider=azure, depends_on=list(after)),
        )

    def _pools(
        self, name: str, plan: AksClusterPlan, place: _AksPlace, azure: pulumi_azure_native.Provider
    ) -> list[aks.AgentPool]:
        home = PoolHome(group=place.group, cluster=place.name, kubernetes=plan.kubernetes)
        return [
            declare_pool(
                logical(name, pool.key),
                home,
                pool,
                place.sizes.wanted(pool.name, pool.scale),
                self.child_opts(pulumi.ResourceOptions(provider=azure, depends_on=list(place.after))),
            )
            for pool in plan.pools
        ]

    def _priorities(self, name: str, plan: AksClusterPlan) -> None:
        """Which pool the autoscaler grows first, by the pools' names in Azure; nodes' names hold them."""
        if not plan.priorities:
            return
        priorities = {
            str(priority): [f".*-{pool}-.*" for pool in pools] for priority, pools in plan.priorities.items()
        }
        core.ConfigMap(
            logical(name, "priorities"),
            metadata=meta.ObjectMetaArgs(name=_PRIORITIES, namespace="kube-system"),
            data={"priorities": json.dumps(priorities, sort_keys=True)},
            opts=self.member_opts(),
        )


def _encoded(user: aks.ListManagedClusterUserCredentialsResult) -> str:
    return user.kubeconfigs[0].value if user.kubeconfigs else ""
