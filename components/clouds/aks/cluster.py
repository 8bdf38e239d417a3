"""A cluster of Azure Kubernetes Service, created or adopted, with its GPU pools.

Nothing secret gets into the state: local accounts are off, and the kubeconfig asks kubelogin for each token.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pulumi
import pulumi_azure_native
import pulumi_azure_native.containerservice as aks
import yaml
from pulumi_azure_native import monitor, resources
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

from dra_fleet.clouds.aks import CLOUD
from dra_fleet.clouds.aks.plan import agent_pool_name, physical_name
from dra_fleet.clouds.aks.resources import SPOT

from ...core.identity import logical
from ..additions import in_api
from ..logins import kubeconfig_with, of_account, readable
from ..platform import ClusterArgs, Platform, cluster_opts
from .sizes import PoolSizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.aks.settings import (
        AdoptCluster,
        AksAccess,
        AksClusterSettings,
        AksPoolSettings,
        AksUpgrades,
        CreateCluster,
        MaintenanceWindow,
        SystemPool,
    )
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    from ..platform import ClusterMade, Declaration, SecretReader


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
    group: pulumi.Input[str],
    plan: ClusterPlan,
    access: AksAccess,
    *,
    system_nodes: pulumi.Input[int],
    identity: pulumi.Input[str] | None,
    subnet: pulumi.Input[str] | None,
    opts: pulumi.ResourceOptions,
) -> aks.ManagedCluster:
    """Declare the control plane with its system pool.

    Args:
        group: the name of its resource group.
        plan: the cluster's.
        access: the settings of its API server.
        system_nodes: how many nodes its system pool is asked for.
        identity: id of a user-assigned identity.
        subnet: id of the subnet of its system pool.
        opts: parent and provider.
    """
    settings = CLOUD.own(plan.settings)
    long_term = settings.long_term_support
    return aks.ManagedCluster(
        plan.name,
        resource_group_name=group,
        resource_name_=plan.name,
        location=settings.region,
        dns_prefix=physical_name("dnsPrefix", plan.name),
        kubernetes_version=plan.kubernetes,
        identity=_identity(identity),
        sku=aks.ManagedClusterSKUArgs(name=settings.sku, tier="Premium" if long_term else "Standard"),
        support_plan="AKSLongTermSupport" if long_term else "KubernetesOfficial",
        disable_local_accounts=True,
        enable_rbac=True,
        oidc_issuer_profile=aks.ManagedClusterOIDCIssuerProfileArgs(enabled=True),
        security_profile=aks.ManagedClusterSecurityProfileArgs(
            workload_identity=aks.ManagedClusterSecurityProfileWorkloadIdentityArgs(enabled=True)
        ),
        auto_upgrade_profile=aks.ManagedClusterAutoUpgradeProfileArgs(
            upgrade_channel=settings.upgrades.kubernetes, node_os_upgrade_channel=settings.upgrades.node_image
        ),
        network_profile=aks.ContainerServiceNetworkProfileArgs(
            network_plugin="azure", network_plugin_mode="overlay", network_dataplane="cilium"
        ),
        auto_scaler_profile=aks.ManagedClusterPropertiesAutoScalerProfileArgs(
            expander="priority" if _priorities(plan) else "random"
        ),
        agent_pool_profiles=[_system_pool(plan.kubernetes, settings.system_pool, system_nodes, subnet)],
        aad_profile=aks.ManagedClusterAADProfileArgs(
            managed=True, enable_azure_rbac=True, admin_group_object_ids=list(access.admin_groups) or None
        ),
        api_server_access_profile=aks.ManagedClusterAPIServerAccessProfileArgs(
            enable_private_cluster=access.private, authorized_ip_ranges=list(access.authorized_ranges) or None
        ),
        opts=opts,
    )


def declare_pool(
    name: str,
    home: PoolHome,
    plan: PoolPlan,
    pool: AksPoolSettings,
    *,
    count: pulumi.Input[int],
    opts: pulumi.ResourceOptions,
) -> pulumi.CustomResource:
    """Declare a pool of GPU nodes; one with a driver that AKS manages as a resource of a newer API version.

    Args:
        name: logical.
        home: the cluster it is added to.
        plan: the pool's.
        pool: its settings.
        count: how many nodes.
        opts: parent and provider, and what must be there before it.
    """
    grows = plan.min_nodes < plan.max_nodes
    arguments: dict[str, Any] = {
        "mode": "User",
        "type": pool.type,
        "vm_size": plan.machine.name,
        "os_type": "Windows" if pool.os_sku.startswith("Windows") else "Linux",
        "os_sku": pool.os_sku,
        "orchestrator_version": home.kubernetes,
        "count": count,
        "enable_auto_scaling": grows,
        "min_count": plan.min_nodes if grows else None,
        "max_count": plan.max_nodes if grows else None,
        "scale_down_mode": "Delete",
        # AKS puts the label and the taint of spot nodes there itself, and refuses its own prefix.
        "node_labels": {key: value for key, value in plan.labels.items() if key != SPOT},
        "node_taints": [
            f"{taint.key}={taint.value}:{taint.effect}" for taint in plan.taints if taint.key != SPOT
        ],
        "availability_zones": list(pool.zones) or None,
        "vnet_subnet_id": home.subnet,
        "gpu_profile": aks.GPUProfileArgs(driver="Install" if pool.gpu_driver == "aks" else "None")
        if plan.machine.gpus
        else None,
        "gpu_instance_profile": pool.gpu_instance_profile,
        "capacity_reservation_group_id": pool.capacity_reservation_group,
        "upgrade_settings": aks.AgentPoolUpgradeSettingsArgs(
            max_surge=pool.upgrade.surge or "0",
            max_unavailable="0" if pool.upgrade.surge else pool.upgrade.unavailable or "1",
            drain_timeout_in_minutes=pool.upgrade.drain_timeout,
            undrainable_node_behavior="Cordon",
        ),
        "scale_set_priority": "Spot" if pool.spot else "Regular",
        "scale_set_eviction_policy": "Delete" if pool.spot else None,
        "spot_max_price": -1 if pool.spot else None,
    }
    if not plan.managed_drivers:
        return aks.AgentPool(
            name,
            resource_group_name=home.group,
            resource_name_=home.cluster,
            agent_pool_name=agent_pool_name(plan, pool),
            opts=opts,
            **arguments,
        )
    return resources.Resource(
        name,
        resource_group_name=home.group,
        resource_provider_namespace="Microsoft.ContainerService",
        parent_resource_path=pulumi.Output.concat("managedClusters/", home.cluster),
        resource_type="agentPools",
        resource_name_=agent_pool_name(plan, pool),
        api_version=max(item.api_version for item in plan.managed_drivers),
        properties=_managed(in_api(arguments, aks.AgentPoolArgs), plan),
        opts=opts,
    )


def _managed(properties: dict[str, Any], plan: PoolPlan) -> dict[str, Any]:
    """Add the fields for managed drivers, which the SDK's own type lacks, to the properties of a pool."""
    keys = {item.key for item in plan.managed_drivers}
    if "advertise" in keys:
        nvidia = {"managementMode": "Managed", "driverMode": "DRA"}
        properties["gpuProfile"] = {**properties["gpuProfile"], "nvidia": nvidia}
    if "dranet" in keys:
        network = properties.get("networkProfile", {})
        properties["networkProfile"] = {**network, "dranet": {"mode": "Managed"}}
    return properties


def maintenance_windows(upgrades: AksUpgrades) -> dict[str, aks.MaintenanceWindowArgs]:
    """Return the window of each kind of automatic upgrade that is on, by the name in AKS."""
    window = upgrades.window
    if window is None:
        return {}
    kinds = {
        "aksManagedAutoUpgradeSchedule": upgrades.kubernetes != "none",
        "aksManagedNodeOSUpgradeSchedule": upgrades.node_image != "None",
    }
    return {name: _window(window) for name, on in kinds.items() if on}


def _window(window: MaintenanceWindow) -> aks.MaintenanceWindowArgs:
    """Return a weekly window in UTC."""
    return aks.MaintenanceWindowArgs(
        schedule=aks.ScheduleArgs(
            weekly=aks.WeeklyScheduleArgs(day_of_week=aks.WeekDay(window.day), interval_weeks=1)
        ),
        start_time=window.start,
        duration_hours=window.hours,
        utc_offset="+00:00",
    )


# The kubeconfig of an AKS cluster: the address and authority Azure reports, and a login that holds no secret.
#
# Source: https://azure.github.io/kubelogin/concepts/exec-plugin.html

_RESOURCE = "the id of an Azure resource"

SERVER = "6dae42f8-4368-4678-94ff-3960e28e3630"
"""The AKS application of Entra ID that tokens are for, the same in every tenant."""


def login_kubeconfig(cluster: str, encoded: str, login: str) -> str:
    """Return a kubeconfig that calls `kubelogin` for each token.

    Args:
        cluster: the cluster's name in the stack.
        encoded: the kubeconfig Azure returned, in base64. Only its server and authority are used.
        login: how kubelogin logs in, such as `azurecli`.

    Raises:
        pulumi.RunError: it is not the kubeconfig of an Entra ID cluster; its content is not shown.
    """
    entry = _cluster(cluster, encoded)
    command = {
        "command": "kubelogin",
        "args": ["get-token", "--server-id", SERVER, "--login", login],
        "provideClusterInfo": False,
    }
    reported = {key: entry[key] for key in ("server", "certificate-authority-data")}
    return kubeconfig_with(command, cluster, reported)


_PRIORITIES = "cluster-autoscaler-priority-expander"
"""The ConfigMap that the autoscaler reads, by its exact name in kube-system."""


@dataclass(frozen=True, kw_only=True)
class _AksPlace:
    """A cluster in Azure: its identity, its login, and the resources that must exist before its pools."""

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

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        plan = args.plan
        settings = CLOUD.own(plan.settings)
        create, access, adopt = settings.create, settings.access, settings.adopt
        super().__init__(
            name,
            {
                "cloud": "aks",
                "kubernetes": plan.kubernetes,
                "region": settings.region,
                "adopted": adopt is not None,
            },
            opts,
            args,
        )
        azure = pulumi_azure_native.Provider(
            logical(name, "azure"),
            location=settings.region,
            subscription_id=settings.subscription,
            opts=pulumi.ResourceOptions(parent=self),
        )
        if adopt is not None:
            place = self._adopted(name, settings, adopt, azure)
            self.admit(args.logins, place.user.apply(lambda _: name))
        elif create is not None and access is not None:
            self.admit(args.logins, self._login(name, settings.subscription, azure))
            place = self._created(plan, create, access, azure)
        else:
            raise TypeError(f"cluster {name} is neither created nor adopted")
        pools = [self._pool(plan, pool, place, azure) for pool in plan.pools]
        self.add_pool = lambda later, pool, parent: self._pool(later, pool, place, azure, parent=parent)
        login = "azurecli" if access is None else access.login
        kubeconfig = pulumi.Output.secret(
            place.user.apply(lambda user: login_kubeconfig(name, _encoded(user), login))
        )
        provider = self.enter(name, kubeconfig, cluster=place.cluster, after=[*place.after, *pools])
        self._declare_priorities(plan)
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @classmethod
    def planned(cls, args: ClusterArgs, secret: SecretReader) -> Declaration:
        """Return how to declare the cluster; no secret is needed."""
        del secret
        return lambda opts: cls(args.plan.name, args, opts)

    @classmethod
    def beside_pools(cls, plan: ClusterPlan) -> object:
        """Return the priorities of the pools, which the autoscaler reads."""
        return _priorities(plan)

    def _login(
        self, name: str, subscription: str | None, azure: pulumi_azure_native.Provider
    ) -> pulumi.Output[str] | None:
        """Ask for its tags, which every subscription has.

        https://learn.microsoft.com/rest/api/resources/tags/get-at-scope
        """
        if subscription is None:
            return None
        asked = resources.get_tag_at_scope_output(
            scope=f"/subscriptions/{subscription}",
            opts=pulumi.InvokeOutputOptions(parent=self, provider=azure),
        )
        return of_account(
            asked,
            lambda tags: tags.id.split("/")[2].lower(),
            name,
            "subscription",
            subscription,
            known_as="Azure subscription",
        )

    def _created(
        self, plan: ClusterPlan, create: CreateCluster, access: AksAccess, azure: pulumi_azure_native.Provider
    ) -> _AksPlace:
        name, settings = plan.name, CLOUD.own(plan.settings)
        # Protected with the component: the options are its own, not those of what lives in the cluster.
        opts = pulumi.ResourceOptions(parent=self, provider=azure, depends_on=self._after)
        group = resources.ResourceGroup(
            logical(name, "group"),
            resource_group_name=self.elsewhere.text(create.resource_group, "the name of its resource group"),
            location=settings.region,
            opts=opts,
        )
        sizes = PoolSizes(cluster=name, group=group.name, name=name, made=group, parent=self, provider=azure)
        nodes = settings.system_pool.nodes
        cluster = declare_cluster(
            group.name,
            plan,
            access,
            system_nodes=sizes.requested(SYSTEM_POOL, nodes.min, nodes.max),
            identity=self.elsewhere.given(create.identity, _RESOURCE),
            subnet=self.elsewhere.given(create.subnet, _RESOURCE),
            opts=cluster_opts(opts),
        )
        if create.logs is not None:
            monitor.DiagnosticSetting(
                logical(name, "logs"),
                name="dra-fleet",
                resource_uri=cluster.id,
                workspace_id=self.elsewhere.text(create.logs.workspace, _RESOURCE),
                logs=[
                    monitor.DiagnosticsLogSettingsArgs(category=category, enabled=True)
                    for category in create.logs.categories
                ],
                opts=self.child_opts(pulumi.ResourceOptions(provider=azure)),
            )
        windows = [
            aks.MaintenanceConfiguration(
                logical(name, kind),
                resource_group_name=group.name,
                resource_name_=cluster.name,
                config_name=kind,
                maintenance_window=window,
                opts=self.child_opts(pulumi.ResourceOptions(provider=azure)),
            )
            for kind, window in maintenance_windows(settings.upgrades).items()
        ]
        after = [cluster, *windows]
        user = self._user(group.name, cluster.name, azure, after)
        return _AksPlace(
            group=group.name, name=cluster.name, sizes=sizes, user=user, cluster=cluster, after=after
        )

    def _adopted(
        self,
        name: str,
        settings: AksClusterSettings,
        adopt: AdoptCluster,
        azure: pulumi_azure_native.Provider,
    ) -> _AksPlace:
        group = self.elsewhere.text(adopt.resource_group, "the name of its resource group")
        known = self.elsewhere.text(adopt.name, "the cluster's name in Azure")
        user = readable(
            self._user(group, known, azure, ()),
            name,
            known_as=f"AKS cluster {adopt.name} in resource group {adopt.resource_group}",
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
            cluster=(settings.subscription or "", group, known),
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
        cluster: ClusterPlan,
        plan: PoolPlan,
        place: _AksPlace,
        azure: pulumi_azure_native.Provider,
        *,
        parent: pulumi.Resource | None = None,
    ) -> pulumi.CustomResource:
        # All pools of a cluster are in subnets of one virtual network, or none names a subnet:
        # https://github.com/Azure/AKS/issues/2927 (2022-05-04).
        own, settings = self.additions.get(plan.name), CLOUD.own(cluster.settings)
        pool = settings.pools[plan.name]
        takes = settings.adopt is not None and (own is None or "vnetSubnetID" not in own.arguments)
        return declare_pool(
            logical(cluster.name, plan.name),
            PoolHome(
                group=place.group,
                cluster=place.name,
                kubernetes=cluster.kubernetes,
                subnet=place.sizes.subnet if takes else None,
            ),
            plan,
            pool,
            count=place.sizes.requested(agent_pool_name(plan, pool), plan.min_nodes, plan.max_nodes),
            opts=self.child_opts(
                pulumi.ResourceOptions.merge(
                    pulumi.ResourceOptions(parent=parent, provider=azure, depends_on=list(place.after)),
                    self.pool_opts(plan.name),
                )
            ),
        )

    def _declare_priorities(self, plan: ClusterPlan) -> None:
        """Declare which pool the autoscaler grows first; nodes' names contain the pools' names in Azure."""
        priorities = _priorities(plan)
        if priorities:
            core.ConfigMap(
                logical(plan.name, "priorities"),
                metadata=meta.ObjectMetaArgs(name=_PRIORITIES, namespace="kube-system"),
                data={"priorities": json.dumps(priorities, sort_keys=True)},
                opts=self.member_opts(),
            )


def _priorities(plan: ClusterPlan) -> dict[str, list[str]]:
    """Patterns of the names of the pools of each priority."""
    found: dict[str, list[str]] = {}
    for pool in plan.pools:
        settings = CLOUD.own(plan.settings).pools[pool.name]
        if settings.priority is not None:
            name = f".*-{agent_pool_name(pool, settings)}-.*"
            found.setdefault(str(settings.priority), []).append(name)
    return found


def _encoded(user: aks.ListManagedClusterUserCredentialsResult) -> str:
    return user.kubeconfigs[0].value if user.kubeconfigs else ""


def _identity(identity: pulumi.Input[str] | None) -> aks.ManagedClusterIdentityArgs:
    if identity is None:
        return aks.ManagedClusterIdentityArgs(type=aks.ResourceIdentityType.SYSTEM_ASSIGNED)
    return aks.ManagedClusterIdentityArgs(
        type=aks.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=[identity]
    )


def _system_pool(
    kubernetes: str, system: SystemPool, count: pulumi.Input[int], subnet: pulumi.Input[str] | None
) -> aks.ManagedClusterAgentPoolProfileArgs:
    least, most = system.nodes.min, system.nodes.max
    return aks.ManagedClusterAgentPoolProfileArgs(
        name=SYSTEM_POOL,
        mode="System",
        vm_size=system.machine,
        os_type="Linux",
        os_sku="AzureLinux3",
        orchestrator_version=kubernetes,
        availability_zones=list(system.zones) or None,
        vnet_subnet_id=subnet,
        node_taints=["CriticalAddonsOnly=true:NoSchedule"],
        count=count,
        enable_auto_scaling=least < most,
        min_count=least if least < most else None,
        max_count=most if least < most else None,
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
