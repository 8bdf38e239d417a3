"""A cluster of Azure Kubernetes Service, created or adopted, with its GPU pools.

Nothing secret gets into the state: local accounts are off, and the kubeconfig asks kubelogin for each token.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pulumi
import pulumi_azure_native
import pulumi_azure_native.containerservice as aks
import yaml
from pulumi_azure_native import monitor, resources
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

from ...core.identity import logical
from ..adopting import readable
from ..kubeconfig import kubeconfig_with
from ..logins import of_account
from ..platform import Platform, cluster_opts
from .sizes import PoolSizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.aks.cluster_plan import (
        AksClusterPlan,
        AksCreation,
        AksPoolPlan,
        AksSystemPoolPlan,
        AksWindowPlan,
    )
    from dra_fleet.model.plan import Additions, ClusterPlan

    from ..logins import Logins
    from ..platform import ClusterMade, Declaration, SecretReader


# The plan of an AKS cluster, declared field by field with typed arguments. Nothing is decided here.
#
# Resources are declared here, not their Args: of AgentPoolArgs and ManagedClusterArgs the SDK unpacks
# `resource_name` onto its own parameter of that name.
# Source: https://learn.microsoft.com/en-us/rest/api/aks/ (2025-09-01).

SYSTEM_POOL = "system"


@dataclass(frozen=True, kw_only=True)
class PoolHome:
    """The cluster that a pool is added to: resource group, name, and the minor of control plane and pools.

    `subnet`: of the system pool of an adopted cluster.
    """

    group: pulumi.Input[str]
    cluster: pulumi.Input[str]
    kubernetes: str
    subnet: pulumi.Input[str | None] = None


def declare_cluster(
    name: str,
    group: pulumi.Input[str],
    plan: AksClusterPlan,
    creation: AksCreation,
    *,
    system_nodes: pulumi.Input[int],
    identity: pulumi.Input[str] | None,
    subnet: pulumi.Input[str] | None,
    opts: pulumi.ResourceOptions,
) -> aks.ManagedCluster:
    """The control plane with its system pool.

    Args:
        name: logical.
        group: the name of its resource group.
        plan: the whole cluster's.
        creation: what is asked for of one that is created.
        system_nodes: how many nodes its system pool is asked for.
        identity: id of a user-assigned identity.
        subnet: id of the subnet of its system pool.
        opts: parent and provider.
    """
    return aks.ManagedCluster(
        name,
        resource_group_name=group,
        resource_name_=plan.name,
        location=plan.region,
        dns_prefix=creation.dns_prefix,
        kubernetes_version=plan.kubernetes,
        identity=_identity(identity),
        sku=aks.ManagedClusterSKUArgs(
            name=creation.sku, tier="Premium" if creation.long_term_support else "Standard"
        ),
        support_plan="AKSLongTermSupport" if creation.long_term_support else "KubernetesOfficial",
        disable_local_accounts=True,
        enable_rbac=True,
        oidc_issuer_profile=aks.ManagedClusterOIDCIssuerProfileArgs(enabled=True),
        security_profile=aks.ManagedClusterSecurityProfileArgs(
            workload_identity=aks.ManagedClusterSecurityProfileWorkloadIdentityArgs(enabled=True)
        ),
        auto_upgrade_profile=aks.ManagedClusterAutoUpgradeProfileArgs(
            upgrade_channel=creation.upgrade_channel, node_os_upgrade_channel=creation.node_image_channel
        ),
        network_profile=aks.ContainerServiceNetworkProfileArgs(
            network_plugin="azure", network_plugin_mode="overlay", network_dataplane="cilium"
        ),
        auto_scaler_profile=aks.ManagedClusterPropertiesAutoScalerProfileArgs(
            expander="priority" if plan.priorities else "random"
        ),
        agent_pool_profiles=[_system_pool(plan.kubernetes, creation.system, system_nodes, subnet)],
        aad_profile=aks.ManagedClusterAADProfileArgs(
            managed=True, enable_azure_rbac=True, admin_group_object_ids=list(creation.admin_groups) or None
        ),
        api_server_access_profile=aks.ManagedClusterAPIServerAccessProfileArgs(
            enable_private_cluster=creation.private,
            authorized_ip_ranges=list(creation.authorized_ranges) or None,
        ),
        opts=opts,
    )


def declare_pool(
    name: str, home: PoolHome, pool: AksPoolPlan, count: pulumi.Input[int], opts: pulumi.ResourceOptions
) -> aks.AgentPool:
    """A pool of GPU nodes.

    Args:
        name: logical.
        home: the cluster it is added to.
        pool: what is asked for.
        count: how many nodes.
        opts: parent and provider, and what must be there before it.
    """
    least, most = pool.scale.bounds or (None, None)
    return aks.AgentPool(
        name,
        resource_group_name=home.group,
        resource_name_=home.cluster,
        agent_pool_name=pool.name,
        mode="User",
        type=pool.type,
        vm_size=pool.vm_size,
        os_type=pool.os_type,
        os_sku=pool.os_sku,
        orchestrator_version=home.kubernetes,
        count=count,
        enable_auto_scaling=pool.scale.bounds is not None,
        min_count=least,
        max_count=most,
        scale_down_mode="Delete",
        node_labels=dict(pool.labels),
        node_taints=[f"{taint.key}={taint.value}:{taint.effect}" for taint in pool.taints],
        availability_zones=list(pool.zones) or None,
        vnet_subnet_id=home.subnet,
        gpu_profile=None
        if pool.gpu_driver is None
        else aks.GPUProfileArgs(driver="Install" if pool.gpu_driver else "None"),
        gpu_instance_profile=pool.gpu_instance_profile,
        capacity_reservation_group_id=pool.capacity_reservation_group,
        upgrade_settings=aks.AgentPoolUpgradeSettingsArgs(
            max_surge=pool.upgrade.surge,
            max_unavailable=pool.upgrade.unavailable,
            drain_timeout_in_minutes=pool.upgrade.drain_timeout,
            undrainable_node_behavior="Cordon",
        ),
        scale_set_priority="Spot" if pool.spot else "Regular",
        scale_set_eviction_policy="Delete" if pool.spot else None,
        spot_max_price=-1 if pool.spot else None,
        opts=opts,
    )


def window_arguments(window: AksWindowPlan) -> aks.MaintenanceWindowArgs:
    """A weekly window in UTC."""
    return aks.MaintenanceWindowArgs(
        schedule=aks.ScheduleArgs(
            weekly=aks.WeeklyScheduleArgs(day_of_week=aks.WeekDay(window.day), interval_weeks=1)
        ),
        start_time=window.start,
        duration_hours=window.hours,
        utc_offset="+00:00",
    )


# The kubeconfig of an AKS cluster: the address and authority Azure tells, and a login that holds no secret.
#
# Source: https://azure.github.io/kubelogin/concepts/exec-plugin.html

_RESOURCE = "the id of an Azure resource"

SERVER = "6dae42f8-4368-4678-94ff-3960e28e3630"
"""The AKS application of Entra ID that tokens are for, the same in every tenant."""


def login_kubeconfig(cluster: str, encoded: str, login: str) -> str:
    """A kubeconfig that asks `kubelogin` for a token each time.

    Args:
        cluster: the cluster's name in the stack.
        encoded: the kubeconfig Azure returned, in base64. Only its server and authority are taken.
        login: how kubelogin logs in, such as `azurecli`.

    Raises:
        pulumi.RunError: it is no kubeconfig of an Entra ID cluster; its content is not shown.
    """
    entry = _cluster(cluster, encoded)
    command = {
        "command": "kubelogin",
        "args": ["get-token", "--server-id", SERVER, "--login", login],
        "provideClusterInfo": False,
    }
    told = {key: entry[key] for key in ("server", "certificate-authority-data")}
    return kubeconfig_with(command, cluster, told)


_PRIORITIES = "cluster-autoscaler-priority-expander"
"""The ConfigMap that the autoscaler reads, by its exact name in kube-system."""


@dataclass(frozen=True, kw_only=True)
class AksClusterArgs:
    """What an AKS cluster takes.

    Attributes:
        plan: what Azure is asked for.
        logins: those of the whole program, where there is one.
        additions: tags and arguments of its pools by name, and of the cluster under "".
    """

    plan: AksClusterPlan
    logins: Logins | None = None
    additions: Mapping[str, Additions] = field(default_factory=dict[str, "Additions"])


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
    MAIN = (aks.ManagedCluster, aks.ManagedClusterArgs)
    POOL = (aks.AgentPool, aks.AgentPoolArgs)

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
            args.additions,
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
        pools = [self._pool(name, plan, pool, place, azure) for pool in plan.pools]
        self.add_pool = lambda later, key, parent: self._pool(
            name, later, next(pool for pool in later.pools if pool.key == key), place, azure, parent=parent
        )
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
        args = AksClusterArgs(plan=cast("AksClusterPlan", plan.own), logins=logins, additions=plan.additions)
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
            name,
            group.name,
            plan,
            creation,
            system_nodes=system_nodes,
            identity=self.elsewhere.given(creation.identity, _RESOURCE),
            subnet=self.elsewhere.given(creation.subnet, _RESOURCE),
            opts=cluster_opts(opts),
        )
        if creation.logs is not None:
            monitor.DiagnosticSetting(
                logical(name, "logs"),
                name="dra-fleet",
                resource_uri=cluster.id,
                workspace_id=self.elsewhere.text(creation.logs.workspace, _RESOURCE),
                logs=[
                    monitor.DiagnosticsLogSettingsArgs(category=category, enabled=True)
                    for category in creation.logs.categories
                ],
                opts=self.child_opts(pulumi.ResourceOptions(provider=azure)),
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

    def _pool(
        self,
        name: str,
        plan: AksClusterPlan,
        pool: AksPoolPlan,
        place: _AksPlace,
        azure: pulumi_azure_native.Provider,
        *,
        parent: pulumi.Resource | None = None,
    ) -> aks.AgentPool:
        # All pools of a cluster are in subnets of one virtual network, or none names a subnet:
        # https://github.com/Azure/AKS/issues/2927 (2022-05-04).
        own = self.additions.get(pool.key)
        takes = plan.creates is None and (own is None or "vnetSubnetID" not in own.arguments)
        return declare_pool(
            logical(name, pool.key),
            PoolHome(
                group=place.group,
                cluster=place.name,
                kubernetes=plan.kubernetes,
                subnet=place.sizes.subnet if takes else None,
            ),
            pool,
            place.sizes.wanted(pool.name, pool.scale),
            self.child_opts(
                pulumi.ResourceOptions.merge(
                    pulumi.ResourceOptions(parent=parent, provider=azure, depends_on=list(place.after)),
                    self.pool_opts(pool.key),
                )
            ),
        )

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


def _identity(identity: pulumi.Input[str] | None) -> aks.ManagedClusterIdentityArgs:
    if identity is None:
        return aks.ManagedClusterIdentityArgs(type=aks.ResourceIdentityType.SYSTEM_ASSIGNED)
    return aks.ManagedClusterIdentityArgs(
        type=aks.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=[identity]
    )


def _system_pool(
    kubernetes: str,
    system: AksSystemPoolPlan,
    count: pulumi.Input[int],
    subnet: pulumi.Input[str] | None,
) -> aks.ManagedClusterAgentPoolProfileArgs:
    least, most = system.scale.bounds or (None, None)
    return aks.ManagedClusterAgentPoolProfileArgs(
        name=SYSTEM_POOL,
        mode="System",
        vm_size=system.vm_size,
        os_type="Linux",
        os_sku="AzureLinux3",
        orchestrator_version=kubernetes,
        availability_zones=list(system.zones) or None,
        vnet_subnet_id=subnet,
        node_taints=["CriticalAddonsOnly=true:NoSchedule"],
        count=count,
        enable_auto_scaling=system.scale.bounds is not None,
        min_count=least,
        max_count=most,
    )


def _cluster(name: str, encoded: str) -> dict[str, Any]:
    try:
        config: Any = yaml.safe_load(base64.b64decode(encoded))
        users = [item["user"] for item in config["users"]]
        entry = cast("dict[str, Any]", config["clusters"][0]["cluster"])
    except (binascii.Error, yaml.YAMLError, UnicodeDecodeError, TypeError, KeyError, IndexError):
        raise pulumi.RunError(
            f"cluster {name}: Azure returned no kubeconfig; allowed: a kubeconfig in base64; "
            "fix: look with `az aks get-credentials --format exec`"
        ) from None
    if any("exec" not in user for user in users) or not {"server", "certificate-authority-data"} <= set(
        entry
    ):
        raise pulumi.RunError(
            f"cluster {name}: its kubeconfig holds a credential instead of a login, because local accounts "
            "are on; allowed: a cluster with Entra ID and without local accounts; "
            "fix: az aks update --enable-aad --disable-local-accounts"
        )
    return entry
