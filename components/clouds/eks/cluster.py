"""A cluster of Elastic Kubernetes Service, created or adopted, with its GPU node groups.

Nothing secret gets into the state: the kubeconfig asks `aws eks get-token` for each token.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
import pulumi_aws
from msgspec.structs import replace
from pulumi_aws import ec2, eks, iam
from typing_extensions import override

from dra_fleet.clouds.eks import CLOUD
from dra_fleet.clouds.eks.karpenter import NAME
from dra_fleet.clouds.eks.plan import placed_together
from dra_fleet.clouds.eks.settings import OwnImage
from dra_fleet.model.plan import Additions

from ...core.identity import Identity, logical
from ..logins import kubeconfig_with, of_account, readable
from ..platform import ClusterArgs, Platform, cluster_opts
from .arguments import (
    Group,
    GroupHome,
    Joining,
    cluster_arguments,
    group_arguments,
    joining,
    plugin_off,
    system_arguments,
    template_arguments,
)
from .karpenter import controller_rights, node_pool, trust
from .sizes import GroupSizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.eks.settings import AdoptEks, CreateEks, EksAccess, EksClusterSettings, SmallNetwork
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    from ..platform import ClusterMade, Declaration, SecretReader


# The kubeconfig of an EKS cluster: its address and authority, and a login that holds no secret.
#
# Source: https://docs.aws.amazon.com/eks/latest/userguide/create-kubeconfig.html


def login_kubeconfig(cluster: str, name: str, region: str, endpoint: str, authority: str) -> str:
    """Return a kubeconfig that calls `aws eks get-token` for each token.

    Args:
        cluster: the cluster's name in the stack.
        name: its name in AWS.
        region: its region, such as us-east-1.
        endpoint: the API server's URL.
        authority: the certificate of its authority, in base64.
    """
    command = {
        "command": "aws",
        "args": ["eks", "get-token", "--cluster-name", name, "--region", region, "--output", "json"],
        "provideClusterInfo": False,
    }
    entry = {"server": endpoint, "certificate-authority-data": authority}
    return kubeconfig_with(command, cluster, entry)


# A small VPC: in each zone a private subnet for nodes and a public one with a NAT gateway.
#
# Nodes with several network cards get no public address by themselves, so they live in private subnets.
# Source: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html

_PRIVATE_BITS = 3
"""A /16 is cut into eight /19: one for the nodes of each zone, and the last for all public subnets."""

_PUBLIC_PREFIX = 24


@dataclass(frozen=True, kw_only=True)
class Network:
    """Network of nodes. `ready`: resources that must exist before a node can reach anything."""

    subnets: Mapping[str, pulumi.Input[str]]
    ready: list[pulumi.Resource]


def small_network(name: str, requested: SmallNetwork, opts: pulumi.ResourceOptions) -> Network:
    """Declare the VPC and all that is in it.

    Args:
        name: the cluster's name, the stem of all names.
        requested: address range and zones.
        opts: parent and provider.
    """
    whole = ipaddress.IPv4Network(requested.cidr)
    *private_ranges, rest = whole.subnets(prefixlen_diff=_PRIVATE_BITS)
    public_ranges = rest.subnets(new_prefix=_PUBLIC_PREFIX)
    vpc = ec2.Vpc(
        logical(name, "vpc"),
        cidr_block=requested.cidr,
        enable_dns_hostnames=True,
        enable_dns_support=True,
        tags={"Name": name},
        opts=opts,
    )
    gateway = ec2.InternetGateway(logical(name, "gateway"), vpc_id=vpc.id, tags={"Name": name}, opts=opts)
    public = _routes(
        logical(name, "public"),
        vpc,
        ec2.RouteTableRouteArgs(cidr_block="0.0.0.0/0", gateway_id=gateway.id),
        opts,
    )
    subnets: dict[str, pulumi.Input[str]] = {}
    ready: list[pulumi.Resource] = []
    zoned = zip(sorted(requested.zones), private_ranges, public_ranges, strict=False)
    for zone, private_range, public_range in zoned:
        part = logical(name, zone)
        where = (vpc, zone, opts)
        outside = _subnet(logical(part, "public"), where, public_range, role="elb")
        inside = _subnet(logical(part, "private"), where, private_range, role="internal-elb")
        address = ec2.Eip(logical(part, "nat"), domain="vpc", tags={"Name": part}, opts=opts)
        nat = ec2.NatGateway(
            logical(part, "nat"),
            subnet_id=outside.id,
            allocation_id=address.allocation_id,
            tags={"Name": part},
            opts=opts,
        )
        private = _routes(
            logical(part, "private"),
            vpc,
            ec2.RouteTableRouteArgs(cidr_block="0.0.0.0/0", nat_gateway_id=nat.id),
            opts,
        )
        for side, subnet, table in (("public", outside, public), ("private", inside, private)):
            ready.append(
                ec2.RouteTableAssociation(
                    logical(part, side), subnet_id=subnet.id, route_table_id=table.id, opts=opts
                )
            )
        subnets[zone] = inside.id
    return Network(subnets=subnets, ready=ready)


# The IAM roles of an EKS cluster and of its nodes, and who else may administer it.
#
# Source: https://docs.aws.amazon.com/eks/latest/userguide/security-iam.html

CLUSTER_POLICIES = ("AmazonEKSClusterPolicy",)

NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly")

_ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


@dataclass(frozen=True, kw_only=True)
class IamRole:
    """A role, and what must be attached to it before it may be used."""

    arn: pulumi.Input[str]
    attached: list[pulumi.Resource]


def role(
    name: str,
    service: str,
    policies: Sequence[str],
    given: pulumi.Input[str] | None,
    opts: pulumi.ResourceOptions,
) -> IamRole:
    """Return the given role, or a new one.

    Args:
        name: its logical name.
        service: the service that assumes the role, such as eks.amazonaws.com.
        policies: AWS's own policies, by name.
        given: the ARN of a role that exists.
        opts: parent and provider.
    """
    if given is not None:
        return IamRole(arn=given, attached=[])
    made = iam.Role(name, assume_role_policy=trust(service), opts=opts)
    attached: list[pulumi.Resource] = [
        iam.RolePolicyAttachment(
            logical(name, policy.lower()),
            role=made.name,
            policy_arn=f"arn:aws:iam::aws:policy/{policy}",
            opts=opts,
        )
        for policy in policies
    ]
    return IamRole(arn=made.arn, attached=attached)


def administrators(
    name: str, cluster: pulumi.Input[str], roles: Sequence[str], opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """Let roles administer the cluster; returns what says so."""
    entries: list[pulumi.Resource] = []
    for number, principal in enumerate(roles):
        entry = eks.AccessEntry(
            logical(name, f"admin-{number}"), cluster_name=cluster, principal_arn=principal, opts=opts
        )
        entries.append(
            eks.AccessPolicyAssociation(
                logical(name, f"admin-{number}"),
                cluster_name=cluster,
                principal_arn=entry.principal_arn,
                policy_arn=_ADMIN,
                access_scope=eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
                opts=opts,
            )
        )
    return entries


_BEFORE_NODES = ("kube-proxy", "vpc-cni")

_SUBNET, _ROLE = "the id of a subnet", "the ARN of an IAM role"

_POD_IDENTITY = "eks-pod-identity-agent"

_AFTER_NODES = ("coredns", "eks-node-monitoring-agent")


@dataclass(frozen=True, kw_only=True)
class _EksPlace:
    """A cluster as its node groups see it. `after`: what must be there before a node can join."""

    name: pulumi.Input[str]
    sizes: GroupSizes
    subnets: Mapping[str, pulumi.Input[str]]
    node_role: pulumi.Input[str]
    vpc: pulumi.Output[str]
    security_group: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    authority: pulumi.Output[str]
    service_range: pulumi.Output[str]
    cluster: ClusterMade
    after: list[pulumi.Resource]


class EksCluster(Platform):
    """An EKS cluster. Its control plane is protected with the component; node groups come and go."""

    TOKEN = "dra-fleet:clouds:EksCluster"  # noqa: S105 - a type token
    MAIN = (eks.Cluster, eks.ClusterArgs)
    POOL = (eks.NodeGroup, eks.NodeGroupArgs)

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        plan = args.plan
        settings = CLOUD.own(plan.settings)
        create, access, adopt, region = settings.create, settings.access, settings.adopt, settings.region
        super().__init__(
            name,
            {
                "cloud": "eks",
                "kubernetes": plan.kubernetes,
                "region": region,
                "adopted": adopt is not None,
            },
            opts,
            args,
        )
        aws = pulumi_aws.Provider(
            logical(name, "aws"),
            region=region,
            allowed_account_ids=None if settings.account is None else [settings.account],
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.admit(args.logins, self._login(name, settings.account, aws))
        # Protected with the component: these options are its own, not those of what lives in the cluster.
        own = pulumi.ResourceOptions(parent=self, provider=aws, depends_on=self._after)
        if adopt is not None:
            place = self._adopted(name, settings, adopt, own)
        elif create is not None and access is not None:
            place = self._created(plan, create, access, own)
        else:
            raise TypeError(f"cluster {name} is neither created nor adopted")
        groups = [self._group(plan, pool, place, aws) for pool in plan.pools if not pool.autoscaler]
        self._place = place

        def add_pool(later: ClusterPlan, pool: PoolPlan, parent: pulumi.Resource) -> pulumi.Resource:
            if pool.autoscaler:
                return self._node_pool(later, pool, self.releases, self._owner, parent)
            return self._group(later, pool, place, aws, parent=parent)

        self.add_pool = add_pool
        kubeconfig = pulumi.Output.secret(
            pulumi.Output.all(name=place.name, endpoint=place.endpoint, authority=place.authority).apply(
                lambda reported: login_kubeconfig(
                    name, reported["name"], region, reported["endpoint"], reported["authority"]
                )
            )
        )
        provider = self.enter(name, kubeconfig, cluster=place.cluster, after=[*place.after, *groups])
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @override
    def create_pools(self, plan: ClusterPlan, releases: Mapping[str, pulumi.Resource], owner: str) -> None:
        self._owner = owner
        made = [self._node_pool(plan, pool, releases, owner) for pool in plan.pools if pool.autoscaler]
        # Workloads are deleted before the nodes that run them.
        self.installers = [*self.installers, *made]

    @classmethod
    @override
    def check_additions(cls, plan: ClusterPlan) -> None:
        others = {pool.name for pool in plan.pools if pool.autoscaler}
        kept = {key: added for key, added in plan.additions.items() if key not in others}
        super().check_additions(replace(plan, additions=kept))

    @classmethod
    def planned(cls, args: ClusterArgs, secret: SecretReader) -> Declaration:
        """Return how to declare the cluster; no secret is needed."""
        del secret
        return lambda opts: cls(args.plan.name, args, opts)

    def _login(self, name: str, account: str | None, aws: pulumi_aws.Provider) -> pulumi.Output[str] | None:
        if account is None:
            return None
        asked = pulumi_aws.get_caller_identity_output(
            opts=pulumi.InvokeOutputOptions(parent=self, provider=aws)
        )
        return of_account(
            asked, lambda reported: reported.account_id, name, "account", account, known_as="AWS account"
        )

    def _adopted(
        self, name: str, settings: EksClusterSettings, adopt: AdoptEks, own: pulumi.ResourceOptions
    ) -> _EksPlace:
        region = settings.region
        known = self.elsewhere.text(adopt.name, "the cluster's name in AWS")
        asked = eks.get_cluster_output(
            name=known, opts=pulumi.InvokeOutputOptions(parent=self, provider=own.provider)
        )
        found = readable(
            asked,
            name,
            known_as=f"EKS cluster {adopt.name} in region {region}",
            listing=f"aws eks list-clusters --region {region}",
            permission="the permission eks:DescribeCluster",
        )
        given = self.elsewhere.given(adopt.node_role, _ROLE)
        nodes = role(logical(name, "node"), "ec2.amazonaws.com", NODE_POLICIES, given, own)
        # Its node groups wait for the answer: none is asked for in a cluster that is not there.
        there = found.apply(lambda _: known)
        return _EksPlace(
            name=there,
            sizes=GroupSizes(cluster=there, made=None, parent=self, provider=own.provider),
            subnets=self.elsewhere.texts(adopt.subnets, _SUBNET),
            node_role=nodes.arn,
            vpc=found.vpc_config.vpc_id,
            security_group=found.vpc_config.cluster_security_group_id,
            endpoint=found.endpoint,
            authority=found.certificate_authorities[0].data,
            service_range=found.kubernetes_network_configs[0].service_ipv4_cidr,
            cluster=(region, known),
            after=nodes.attached,
        )

    def _created(
        self, plan: ClusterPlan, create: CreateEks, access: EksAccess, own: pulumi.ResourceOptions
    ) -> _EksPlace:
        name, settings = plan.name, CLOUD.own(plan.settings)
        network = (
            Network(subnets=self.elsewhere.texts(create.subnets, _SUBNET), ready=[])
            if create.network is None
            else small_network(name, create.network, own)
        )
        own_role = self.elsewhere.given(create.cluster_role, _ROLE)
        control = role(logical(name, "cluster"), "eks.amazonaws.com", CLUSTER_POLICIES, own_role, own)
        given = self.elsewhere.given(create.node_role, _ROLE)
        nodes = role(logical(name, "node"), "ec2.amazonaws.com", NODE_POLICIES, given, own)
        subnets = [network.subnets[zone] for zone in sorted(network.subnets)]
        cluster = eks.Cluster(
            name,
            cluster_arguments(plan, access, control.arn, subnets),
            opts=pulumi.ResourceOptions.merge(
                cluster_opts(own), pulumi.ResourceOptions(depends_on=[*control.attached, *network.ready])
            ),
        )
        admins = administrators(name, cluster.name, access.admins, own)
        first = [self._addon(name, addon, settings, cluster, own) for addon in _BEFORE_NODES]
        joinable = [cluster, *nodes.attached, *network.ready, *first]
        sizes = GroupSizes(cluster=cluster.name, made=cluster, parent=self, provider=own.provider)
        system = eks.NodeGroup(
            logical(name, "system"),
            system_arguments(
                settings.system_pool,
                plan.kubernetes,
                GroupHome(cluster=cluster.name, role=nodes.arn, subnets=subnets, sizes=sizes),
            ),
            opts=pulumi.ResourceOptions.merge(own, pulumi.ResourceOptions(depends_on=joinable)),
        )
        after_system = pulumi.ResourceOptions.merge(own, pulumi.ResourceOptions(depends_on=[system]))
        has_karpenter = any(pool.autoscaler for pool in plan.pools)
        asked = {*settings.addons, *([_POD_IDENTITY] if has_karpenter else [])}
        chosen = sorted(asked - {*_BEFORE_NODES, *_AFTER_NODES})
        later = [
            self._addon(name, addon, settings, cluster, after_system) for addon in (*_AFTER_NODES, *chosen)
        ]
        if has_karpenter:
            self.installers = [*later, *controller_rights(name, cluster, nodes.arn, own)]
        return _EksPlace(
            name=cluster.name,
            sizes=sizes,
            subnets=network.subnets,
            node_role=nodes.arn,
            vpc=cluster.vpc_config.apply(lambda config: config.vpc_id or ""),
            security_group=cluster.vpc_config.apply(lambda config: config.cluster_security_group_id or ""),
            endpoint=cluster.endpoint,
            authority=cluster.certificate_authority.apply(lambda reported: reported.data or ""),
            service_range=cluster.kubernetes_network_config.apply(
                lambda reported: reported.service_ipv4_cidr or ""
            ),
            cluster=cluster,
            after=[*joinable, system, *admins, *later],
        )

    def _addon(
        self,
        name: str,
        addon: str,
        settings: EksClusterSettings,
        cluster: eks.Cluster,
        opts: pulumi.ResourceOptions,
    ) -> eks.Addon:
        return eks.Addon(
            logical(name, addon),
            cluster_name=cluster.name,
            addon_name=addon,
            addon_version=settings.addons.get(addon),
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            opts=opts,
        )

    def _group(
        self,
        cluster: ClusterPlan,
        plan: PoolPlan,
        place: _EksPlace,
        aws: pulumi_aws.Provider,
        *,
        parent: pulumi.Resource | None = None,
    ) -> eks.NodeGroup:
        group = Group(cluster=cluster, plan=plan)
        part = logical(cluster.name, plan.name)
        opts = self.child_opts(
            pulumi.ResourceOptions.merge(
                pulumi.ResourceOptions(parent=parent, provider=aws), self.pool_opts(plan.name)
            )
        )
        together = placed_together(group.pool)
        placement = ec2.PlacementGroup(part, strategy="cluster", opts=opts) if together else None
        template = ec2.LaunchTemplate(
            part,
            template_arguments(
                group,
                self._security_groups(part, group, place, opts),
                None if placement is None else placement.name,
                _user_data(group, place),
            ),
            opts=opts,
        )
        home = GroupHome(
            cluster=place.name,
            role=place.node_role,
            subnets=[place.subnets[zone] for zone in group.zones],
            sizes=place.sizes,
        )
        version = eks.NodeGroupLaunchTemplateArgs(id=template.id, version=template.latest_version.apply(str))
        return eks.NodeGroup(
            part,
            group_arguments(group, home, version),
            opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=place.after)),
        )

    def _node_pool(
        self,
        cluster: ClusterPlan,
        plan: PoolPlan,
        releases: Mapping[str, pulumi.Resource],
        owner: str,
        parent: pulumi.Resource | None = None,
    ) -> pulumi.Resource:
        group, place = Group(cluster=cluster, plan=plan), self._place
        role = pulumi.Output.from_input(place.node_role).apply(lambda arn: (arn or "").rpartition("/")[2])
        added = self.additions.get(plan.name, Additions())
        node_class = {
            "role": role,
            "subnetSelectorTerms": [{"id": place.subnets[zone]} for zone in group.zones],
            "securityGroupSelectorTerms": [{"id": place.security_group}],
            **({"tags": dict(added.tags)} if added.tags else {}),
        }
        controller = [releases[NAME]] if NAME in releases else []
        opts = pulumi.ResourceOptions.merge(
            self.member_opts(controller), pulumi.ResourceOptions(parent=parent) if parent else None
        )
        return node_pool(group, node_class, added.arguments, Identity(owner=owner).labels(), opts)

    def _security_groups(
        self, part: str, group: Group, place: _EksPlace, opts: pulumi.ResourceOptions
    ) -> list[pulumi.Input[str]]:
        """Return EFA cards' security groups: the cluster's, and one that allows all traffic to itself."""
        if group.cards is None:
            return []
        if group.pool.security_group is not None:
            return [place.security_group, group.pool.security_group]
        made = ec2.SecurityGroup(
            logical(part, "efa"),
            description="EFA: all traffic between the nodes of one pool",
            vpc_id=place.vpc,
            ingress=[ec2.SecurityGroupIngressArgs(protocol="-1", from_port=0, to_port=0, self=True)],
            egress=[ec2.SecurityGroupEgressArgs(protocol="-1", from_port=0, to_port=0, self=True)],
            opts=opts,
        )
        return [place.security_group, made.id]


def _user_data(group: Group, place: _EksPlace) -> pulumi.Input[str] | None:
    """Return the nodes' user data; EKS's own images join without it."""
    if isinstance(group.pool.image, OwnImage):
        return pulumi.Output.all(
            cluster=place.name,
            endpoint=place.endpoint,
            authority=place.authority,
            service_range=place.service_range,
        ).apply(lambda reported: joining(Joining(**reported), group.plan))
    image = group.image
    omits = image is not None and image.plugin and not (group.plan.by_plugin or group.pool.device_plugin)
    return plugin_off() if omits else None


def _routes(
    name: str, vpc: ec2.Vpc, route: ec2.RouteTableRouteArgs, opts: pulumi.ResourceOptions
) -> ec2.RouteTable:
    return ec2.RouteTable(name, vpc_id=vpc.id, routes=[route], tags={"Name": name}, opts=opts)


def _subnet(
    name: str,
    where: tuple[ec2.Vpc, str, pulumi.ResourceOptions],
    cidr: ipaddress.IPv4Network,
    *,
    role: str,
) -> ec2.Subnet:
    vpc, zone, opts = where
    return ec2.Subnet(
        name,
        vpc_id=vpc.id,
        availability_zone=zone,
        cidr_block=str(cidr),
        tags={"Name": name, f"kubernetes.io/role/{role}": "1"},
        opts=opts,
    )
