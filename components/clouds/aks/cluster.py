"""A cluster of Azure Kubernetes Service, created or adopted, with its GPU pools.

Nothing secret gets into the state: local accounts are off, and the kubeconfig asks kubelogin for each token.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
import pulumi_azure_native
import pulumi_azure_native.containerservice as aks
from pulumi_azure_native import resources
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

from dra_fleet.clouds.aks.pools import agent_pool_name
from dra_fleet.clouds.aks.settings import AksClusterSettings

from ...core.naming import logical
from ..adopting import readable
from ..platform import Platform
from .declarations import (
    PoolHome,
    declare_cluster,
    declare_pool,
    maintenance_windows,
    prioritised,
    window_arguments,
)
from .kubeconfig import login_kubeconfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pulumi_kubernetes

    from dra_fleet.clouds.aks.settings import AdoptCluster
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    from ..platform import Declaration, SecretReader

_PRIORITIES = "cluster-autoscaler-priority-expander"
"""The ConfigMap that the autoscaler reads, by its exact name in kube-system."""


@dataclass(frozen=True, kw_only=True)
class AksClusterArgs:
    """What an AKS cluster takes.

    Attributes:
        kubernetes: the minor of the control plane and of all pools, such as "1.36".
        settings: the cluster's section of the stack file, checked.
        pools: the planned pools, with the labels and taints of their nodes.
    """

    kubernetes: str
    settings: AksClusterSettings
    pools: Sequence[PoolPlan]


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where the cluster is in Azure, how its users get in, and what must be there before pools are added."""

    group: pulumi.Input[str]
    name: pulumi.Input[str]
    user: pulumi.Output[aks.ListManagedClusterUserCredentialsResult]
    after: Sequence[pulumi.Resource]


class AksCluster(Platform):
    """An AKS cluster. Its control plane is protected with the component; pools come and go."""

    TOKEN = "dra-fleet:platforms:AksCluster"  # noqa: S105 - a type token

    def __init__(self, name: str, args: AksClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        settings = args.settings
        super().__init__(
            name,
            {
                "cloud": "aks",
                "kubernetes": args.kubernetes,
                "region": settings.region,
                "adopted": settings.adopt is not None,
            },
            opts,
        )
        azure = pulumi_azure_native.Provider(
            logical(name, "azure"),
            location=settings.region,
            subscription_id=settings.subscription,
            opts=pulumi.ResourceOptions(parent=self),
        )
        place = self._place(name, args, azure)
        pools = self._pools(name, args, place, azure)
        login = settings.access.login if settings.access else "azurecli"
        kubeconfig = pulumi.Output.secret(
            place.user.apply(lambda user: login_kubeconfig(name, _encoded(user), login))
        )
        provider = self.enter(name, kubeconfig, after=[*place.after, *pools])
        self._priorities(name, args, provider)
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @classmethod
    def planned(cls, plan: ClusterPlan, secret: SecretReader) -> Declaration:
        """Take the cluster's settings; it needs no secret."""
        del secret
        settings = plan.settings
        if not isinstance(settings, AksClusterSettings):
            raise TypeError(f"cluster {plan.name} is no AKS cluster but {plan.cloud}")
        args = AksClusterArgs(kubernetes=plan.kubernetes, settings=settings, pools=plan.pools)
        return lambda opts: cls(plan.name, args, opts)

    def _place(self, name: str, args: AksClusterArgs, azure: pulumi_azure_native.Provider) -> _Place:
        settings = args.settings
        if settings.adopt is not None:
            return self._adopted(name, settings.adopt, azure)
        if settings.create is None:
            raise ValueError(f"cluster {name} is neither created nor adopted")
        # Protected with the component: the options are its own, not those of what lives in the cluster.
        opts = pulumi.ResourceOptions(parent=self, provider=azure, depends_on=self._after)
        group = resources.ResourceGroup(
            logical(name, "group"),
            resource_group_name=settings.create.resource_group,
            location=settings.region,
            opts=opts,
        )
        cluster = declare_cluster(name, group.name, args.kubernetes, settings, opts)
        windows = [
            aks.MaintenanceConfiguration(
                logical(name, config),
                resource_group_name=group.name,
                resource_name_=cluster.name,
                config_name=config,
                maintenance_window=window_arguments(window),
                opts=self.child_opts(pulumi.ResourceOptions(provider=azure)),
            )
            for config, window in maintenance_windows(settings).items()
        ]
        after = [cluster, *windows]
        user = self._user(group.name, cluster.name, azure, after)
        return _Place(group=group.name, name=cluster.name, user=user, after=after)

    def _adopted(self, name: str, adopt: AdoptCluster, azure: pulumi_azure_native.Provider) -> _Place:
        user = readable(
            self._user(adopt.resource_group, adopt.name, azure, ()),
            name,
            known_as=f"AKS cluster {adopt.name} in resource group {adopt.resource_group}",
            listing="az aks list --output table",
            permission='the role "Azure Kubernetes Service Cluster User Role" on it',
        )
        # Its pools wait for the answer: none is asked for in a cluster that is not there.
        there = pulumi.Output.unsecret(user).apply(lambda _: adopt.name)
        return _Place(group=adopt.resource_group, name=there, user=user, after=[])

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
        self, name: str, args: AksClusterArgs, place: _Place, azure: pulumi_azure_native.Provider
    ) -> list[aks.AgentPool]:
        home = PoolHome(group=place.group, cluster=place.name, kubernetes=args.kubernetes)
        return [
            declare_pool(
                logical(name, plan.name),
                home,
                plan,
                args.settings.pools[plan.name],
                self.child_opts(
                    pulumi.ResourceOptions(
                        provider=azure,
                        depends_on=list(place.after),
                        # The autoscaler moves it between the bounds.
                        ignore_changes=["count"] if plan.min_nodes < plan.max_nodes else None,
                    )
                ),
            )
            for plan in args.pools
        ]

    def _priorities(self, name: str, args: AksClusterArgs, provider: pulumi_kubernetes.Provider) -> None:
        """Which pool the autoscaler grows first, by the pools' names in Azure; nodes' names hold them."""
        wanted = prioritised(args.settings)
        if not wanted:
            return
        plans = {plan.name: plan for plan in args.pools}
        priorities = {
            str(priority): [
                f".*-{agent_pool_name(plans[pool], args.settings.pools[pool])}-.*" for pool in pools
            ]
            for priority, pools in wanted.items()
        }
        core.ConfigMap(
            logical(name, "priorities"),
            metadata=meta.ObjectMetaArgs(name=_PRIORITIES, namespace="kube-system"),
            data={"priorities": json.dumps(priorities, sort_keys=True)},
            opts=self.child_opts(pulumi.ResourceOptions(provider=provider)),
        )


def _encoded(user: aks.ListManagedClusterUserCredentialsResult) -> str:
    return user.kubeconfigs[0].value if user.kubeconfigs else ""


COMPONENT = AksCluster
