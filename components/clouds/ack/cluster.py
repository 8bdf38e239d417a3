"""A cluster of Alibaba Cloud's Container Service for Kubernetes, created or adopted, with its GPU node pools.

Nothing secret gets into the state: the kubeconfig asks `ack-ram-tool` for each token.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
import pulumi_alicloud
from pulumi_alicloud import cs, vpc

from dra_fleet.clouds.ack import CLOUD
from dra_fleet.clouds.ack.plan import node_pool_name, version_of, zones_of
from dra_fleet.clouds.ack.resources import SYSTEM_POOL
from dra_fleet.core.findings.errors import SettingsError, under
from dra_fleet.model.specs import POOL

from ...core.identity import logical
from ..logins import kubeconfig_with, of_account, readable
from ..platform import ClusterArgs, Platform, cluster_opts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pulumi_alicloud.cs.outputs import (
        GetManagedKubernetesClustersClusterConnectionResult,
        GetManagedKubernetesClustersClusterResult,
        ManagedKubernetesConnection,
    )

    from dra_fleet.clouds.ack.settings import (
        AckAccess,
        AckClusterSettings,
        AckNetwork,
        AckPoolSettings,
        AckSystemPool,
        AdoptAck,
        CreateAck,
    )
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    from ..platform import Declaration, SecretReader


# Source: https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/developer-reference/

_ADDONS = ("terway-eniip", "csi-plugin", "csi-provisioner")
"""The pods' network, and disks; ACK adds the other components by itself."""

_SERVICES = "172.16.0.0/16"


_SYSTEM_DISK = 120
"""GiB."""


def cluster_arguments(
    plan: ClusterPlan, create: CreateAck, access: AckAccess, vswitches: Sequence[pulumi.Input[str]]
) -> cs.ManagedKubernetesArgs:
    """Return the arguments of a ManagedKubernetes.

    Args:
        plan: the cluster's.
        create: the settings of one that is created.
        access: the settings of its API server.
        vswitches: those of its nodes and pods.
    """
    settings = CLOUD.own(plan.settings)
    return cs.ManagedKubernetesArgs(
        name=plan.name,
        version=version_of(settings, plan.kubernetes),
        cluster_spec=settings.edition,
        profile="Default",
        vswitch_ids=list(vswitches),
        pod_vswitch_ids=list(vswitches),
        service_cidr=_SERVICES,
        proxy_mode="ipvs",
        new_nat_gateway=create.network is not None,
        slb_internet_enabled=access.public,
        # It cannot be turned off again: pods get roles of RAM by their service accounts.
        enable_rrsa=True,
        # The client's key would be in the state.
        skip_set_certificate_authority=True,
        addons=[cs.ManagedKubernetesAddonArgs(name=addon) for addon in _ADDONS],
    )


def system_arguments(
    system: AckSystemPool, cluster: pulumi.Input[str], vswitches: Mapping[str, pulumi.Input[str]]
) -> cs.NodePoolArgs:
    """Return the arguments of the node pool of the cluster's own pods.

    Args:
        system: its settings.
        cluster: the cluster's id.
        vswitches: those of its zones, by zone.
    """
    return cs.NodePoolArgs(
        cluster_id=cluster,
        node_pool_name=SYSTEM_POOL,
        instance_types=[system.machine],
        vswitch_ids=[vswitches[zone] for zone in sorted(vswitches)],
        image_type="AliyunLinux3",
        runtime_name="containerd",
        desired_size=_fixed(system.nodes.min, system.nodes.max),
        scaling_config=_scaling(system.nodes.min, system.nodes.max, "cpu"),
        labels=[cs.NodePoolLabelArgs(key=POOL, value=SYSTEM_POOL)],
        taints=[],
        spot_strategy="NoSpot",
        multi_az_policy="BALANCE",
        system_disk_category="cloud_essd",
        system_disk_size=_SYSTEM_DISK,
        management=cs.NodePoolManagementArgs(enable=True, auto_repair=True),
        force_delete=True,
    )


def pool_arguments(
    plan: PoolPlan,
    pool: AckPoolSettings,
    zones: Sequence[str],
    cluster: pulumi.Input[str],
    vswitches: Mapping[str, pulumi.Input[str]],
) -> cs.NodePoolArgs:
    """Return the arguments of a NodePool.

    Args:
        plan: the node pool's.
        pool: its settings.
        zones: the zones of its nodes.
        cluster: the cluster's id.
        vswitches: the cluster's by zone.
    """
    kind = "gpu" if plan.machine.gpus else "cpu"
    return cs.NodePoolArgs(
        cluster_id=cluster,
        node_pool_name=node_pool_name(plan, pool),
        instance_types=[plan.machine.name],
        vswitch_ids=[vswitches[zone] for zone in zones],
        image_type=pool.image,
        runtime_name="containerd",
        desired_size=_fixed(plan.min_nodes, plan.max_nodes),
        scaling_config=_scaling(plan.min_nodes, plan.max_nodes, "spot" if pool.spot else kind),
        labels=[cs.NodePoolLabelArgs(key=key, value=value) for key, value in sorted(plan.labels.items())],
        taints=[
            cs.NodePoolTaintArgs(key=taint.key, value=taint.value or None, effect=taint.effect)
            for taint in plan.taints
        ],
        spot_strategy="SpotAsPriceGo" if pool.spot else "NoSpot",
        multi_az_policy="BALANCE",
        private_pool_options=None
        if pool.reservation is None
        else cs.NodePoolPrivatePoolOptionsArgs(
            private_pool_options_match_criteria="Target", private_pool_options_id=pool.reservation
        ),
        system_disk_category="cloud_essd",
        system_disk_size=pool.disk,
        management=cs.NodePoolManagementArgs(enable=True, auto_repair=True),
        # Without it a pool that has nodes cannot be deleted, nor one that another replaces.
        force_delete=True,
    )


def _fixed(least: int, most: int) -> str | None:
    """Return the number of nodes; None if the autoscaler sets it, because ACK rejects both."""
    return str(least) if least == most else None


def _scaling(least: int, most: int, kind: str) -> cs.NodePoolScalingConfigArgs | None:
    """Return the autoscaler's bounds. `kind`: its name for the machines."""
    if least == most:
        return None
    return cs.NodePoolScalingConfigArgs(enable=True, min_size=least, max_size=most, type=kind)


# The kubeconfig of an ACK cluster: its address and authority, and a login that holds no secret.
#
# Source: https://github.com/AliyunContainerService/ack-ram-tool, website/docs/credential-plugin


def login_kubeconfig(cluster: str, cluster_id: str, region: str, endpoint: str, authority: str) -> str:
    """Return a kubeconfig that calls `ack-ram-tool` for each token.

    Args:
        cluster: the cluster's name in the stack.
        cluster_id: its id in Alibaba Cloud.
        region: its region, such as ap-southeast-1.
        endpoint: the API server's URL.
        authority: the certificate of its authority, in base64.
    """
    where = ["--cluster-id", cluster_id, "--region-id", region]
    # What it logs below errors would stand beside the credential.
    how = ["--api-version", "v1beta1", "--log-level", "error"]
    command = {
        "command": "ack-ram-tool",
        "args": ["credential-plugin", "get-token", *where, *how],
        "provideClusterInfo": False,
    }
    entry = {"server": endpoint, "certificate-authority-data": authority}
    return kubeconfig_with(command, cluster, entry)


# A small VPC: in each zone a vSwitch for nodes and pods; ACK adds the NAT gateway.
#
# Source: https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/plan-cidr-blocks-for-an-ack-cluster-1

_ZONE_BITS = 3
"""A /16 is cut into eight /19, one for the nodes and pods of each zone."""


def small_network(
    name: str, requested: AckNetwork, opts: pulumi.ResourceOptions
) -> Mapping[str, pulumi.Input[str]]:
    """Declare the VPC and its vSwitches, whose ids by zone are returned.

    Args:
        name: the cluster's name, the stem of all names.
        requested: address range and zones.
        opts: parent and provider.
    """
    ranges = ipaddress.IPv4Network(requested.cidr).subnets(prefixlen_diff=_ZONE_BITS)
    network = vpc.Network(logical(name, "vpc"), vpc_name=name, cidr_block=requested.cidr, opts=opts)
    zoned = zip(sorted(requested.zones), ranges, strict=False)
    return {
        zone: vpc.Switch(
            logical(name, zone),
            vswitch_name=logical(name, zone),
            vpc_id=network.id,
            zone_id=zone,
            cidr_block=str(cidr),
            opts=opts,
        ).id
        for zone, cidr in zoned
    }


_VSWITCH = "the id of a vSwitch"

_MINUTES = 15
"""The shortest that a credential is issued for. Of it the authority alone is kept."""


@dataclass(frozen=True, kw_only=True)
class _AckPlace:
    """A cluster as its node pools see it. `after`: what must be there before pods run in it.

    `made`: the cluster, None where it is adopted.
    """

    id: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    vswitches: Mapping[str, pulumi.Input[str]]
    made: cs.ManagedKubernetes | None
    after: list[pulumi.Resource]


class AckCluster(Platform):
    """An ACK cluster. Its control plane is protected with the component; node pools come and go."""

    TOKEN = "dra-fleet:clouds:AckCluster"  # noqa: S105 - a type token
    MAIN = (cs.ManagedKubernetes, cs.ManagedKubernetesArgs)
    POOL = (cs.NodePool, cs.NodePoolArgs)

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        plan = args.plan
        settings = CLOUD.own(plan.settings)
        create, access, adopt, region = settings.create, settings.access, settings.adopt, settings.region
        super().__init__(
            name,
            {
                "cloud": "ack",
                "kubernetes": version_of(settings, plan.kubernetes),
                "region": region,
                "adopted": adopt is not None,
            },
            opts,
            args,
        )
        alibaba = pulumi_alicloud.Provider(
            logical(name, "alicloud"),
            region=region,
            account_id=settings.account,
            opts=pulumi.ResourceOptions(parent=self, replacement_trigger=region),
        )
        self.admit(args.logins, self._login(name, settings.account, alibaba))
        # Protected with the component: these options are its own, not those of what lives in the cluster.
        # The provider takes another region for a mere update, and looks there for what it made in the first.
        own = pulumi.ResourceOptions(
            parent=self, provider=alibaba, depends_on=self._after, replacement_trigger=region
        )
        if adopt is not None:
            place = self._adopted(name, settings, adopt, own)
        elif create is not None and access is not None:
            place = self._created(plan, create, access, own)
        else:
            raise TypeError(f"cluster {name} is neither created nor adopted")
        pools = [self._pool(plan, pool, place, alibaba) for pool in plan.pools]
        self.add_pool = lambda later, pool, parent: self._pool(later, pool, place, alibaba, parent=parent)
        kubeconfig = pulumi.Output.secret(
            pulumi.Output.all(
                id=place.id, endpoint=place.endpoint, authority=self._authority(place, alibaba)
            ).apply(
                lambda found: login_kubeconfig(
                    name, found["id"], region, found["endpoint"], found["authority"]
                )
            )
        )
        provider = self.enter(
            name, kubeconfig, cluster=place.made or (place.id,), after=[*place.after, *pools]
        )
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @classmethod
    def planned(cls, args: ClusterArgs, secret: SecretReader) -> Declaration:
        """Return how to declare the cluster; no secret is needed."""
        del secret
        return lambda opts: cls(args.plan.name, args, opts)

    def _login(
        self, name: str, account: str | None, alibaba: pulumi_alicloud.Provider
    ) -> pulumi.Output[str] | None:
        if account is None:
            return None
        asked = pulumi_alicloud.get_caller_identity_output(
            opts=pulumi.InvokeOutputOptions(parent=self, provider=alibaba)
        )
        return of_account(
            asked,
            lambda reported: reported.account_id,
            name,
            "account",
            account,
            known_as="Alibaba Cloud account",
        )

    def _adopted(
        self, name: str, settings: AckClusterSettings, adopt: AdoptAck, own: pulumi.ResourceOptions
    ) -> _AckPlace:
        region = settings.region
        asked = cs.get_managed_kubernetes_clusters_output(
            ids=pulumi.Output.from_input(self.elsewhere.text(adopt.id, "the cluster's id")).apply(
                lambda known: [known]
            ),
            enable_details=True,
            opts=pulumi.InvokeOutputOptions(parent=self, provider=own.provider),
        )
        found = readable(
            asked,
            name,
            known_as=f"ACK cluster {adopt.id} in region {region}",
            listing=f"aliyun cs DescribeClustersV1 --region {region}",
            permission="the permission cs:DescribeClusterDetail",
        ).apply(lambda reported: _only(name, adopt, region, reported.clusters))
        return _AckPlace(
            # Its node pools wait for the answer: none is asked for in a cluster that is not there.
            id=found.apply(lambda cluster: cluster.id),
            endpoint=found.apply(lambda cluster: _address(cluster.connections)),
            vswitches=self.elsewhere.texts(adopt.vswitches, _VSWITCH),
            made=None,
            after=[],
        )

    def _created(
        self, plan: ClusterPlan, create: CreateAck, access: AckAccess, own: pulumi.ResourceOptions
    ) -> _AckPlace:
        vswitches = (
            self.elsewhere.texts(create.vswitches, _VSWITCH)
            if create.network is None
            else small_network(plan.name, create.network, own)
        )
        cluster = cs.ManagedKubernetes(
            plan.name,
            cluster_arguments(plan, create, access, [vswitches[zone] for zone in sorted(vswitches)]),
            opts=cluster_opts(own),
        )
        system = cs.NodePool(
            logical(plan.name, SYSTEM_POOL),
            system_arguments(CLOUD.own(plan.settings).system_pool, cluster.id, vswitches),
            opts=own,
        )
        return _AckPlace(
            id=cluster.id,
            endpoint=cluster.connections.apply(_address),
            vswitches=vswitches,
            made=cluster,
            after=[cluster, system],
        )

    def _pool(
        self,
        cluster: ClusterPlan,
        plan: PoolPlan,
        place: _AckPlace,
        alibaba: pulumi_alicloud.Provider,
        *,
        parent: pulumi.Resource | None = None,
    ) -> cs.NodePool:
        # ACK renames a pool in place; its name says what needs new nodes.
        opts = pulumi.ResourceOptions(
            parent=parent, provider=alibaba, depends_on=place.after, replace_on_changes=["nodePoolName"]
        )
        settings = CLOUD.own(cluster.settings)
        pool = settings.pools[plan.name]
        return cs.NodePool(
            logical(cluster.name, plan.name),
            pool_arguments(plan, pool, zones_of(pool, settings), place.id, place.vswitches),
            opts=self.child_opts(pulumi.ResourceOptions.merge(opts, self.pool_opts(plan.name))),
        )

    def _authority(self, place: _AckPlace, alibaba: pulumi_alicloud.Provider) -> pulumi.Output[str]:
        reported = cs.get_cluster_credential_output(
            cluster_id=place.id,
            temporary_duration_minutes=_MINUTES,
            opts=pulumi.InvokeOutputOptions(
                parent=self, provider=alibaba, depends_on=None if place.made is None else [place.made]
            ),
        )
        return reported.certificate_authorities.apply(lambda authorities: authorities[0].cluster_cert)


def _only(
    name: str, adopt: AdoptAck, region: str, found: Sequence[GetManagedKubernetesClustersClusterResult]
) -> GetManagedKubernetesClustersClusterResult:
    """Return the cluster of an id. The cloud lists none for an unknown id."""
    if found:
        return found[0]
    error = SettingsError(
        path=under("clusters", name, "adopt"),
        what=f"ACK has no such cluster in region {region}",
        got=str(adopt.id),
        allowed="a cluster that is there and that your login may read",
        fix=f"look for it with `aliyun cs DescribeClustersV1 --region {region}`",
    )
    raise pulumi.RunError(str(error))


def _address(
    reported: Sequence[ManagedKubernetesConnection | GetManagedKubernetesClustersClusterConnectionResult],
) -> str:
    """Return the public address of an API server, or the private one if it has no other."""
    return next((each.api_server_internet or each.api_server_intranet or "" for each in reported), "")
