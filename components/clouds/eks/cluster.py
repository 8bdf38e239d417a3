"""A cluster of Elastic Kubernetes Service, created or adopted, with its GPU node groups.

Nothing secret gets into the state: the kubeconfig asks `aws eks get-token` for each token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
import pulumi_aws
from pulumi_aws import ec2, eks

from dra_fleet.clouds.eks.pools import image_of, placed_together, zones_of
from dra_fleet.clouds.eks.settings import EksClusterSettings, OwnImage

from ...core.naming import logical
from ..adopting import readable
from ..platform import Platform
from .arguments import (
    GroupHome,
    Joining,
    cluster_arguments,
    group_arguments,
    joining,
    plugin_off,
    system_arguments,
    template_arguments,
)
from .kubeconfig import login_kubeconfig
from .network import Network, small_network
from .roles import CLUSTER_POLICIES, NODE_POLICIES, administrators, role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.eks.settings import AdoptEks, CreateEks, EksPoolSettings
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    from ..platform import Declaration, SecretReader

_BEFORE_NODES = ("kube-proxy", "vpc-cni")
_AFTER_NODES = ("coredns", "eks-node-monitoring-agent")


@dataclass(frozen=True, kw_only=True)
class EksClusterArgs:
    """What an EKS cluster takes.

    Attributes:
        kubernetes: the minor of the control plane and of all node groups, such as "1.36".
        settings: the cluster's section of the stack file, checked.
        pools: the planned pools, with the labels and taints of their nodes.
    """

    kubernetes: str
    settings: EksClusterSettings
    pools: Sequence[PoolPlan]


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A cluster as its node groups see it. `after`: what must be there before a node can join."""

    name: pulumi.Input[str]
    subnets: Mapping[str, pulumi.Input[str]]
    node_role: pulumi.Input[str]
    vpc: pulumi.Output[str]
    security_group: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    authority: pulumi.Output[str]
    service_range: pulumi.Output[str]
    after: list[pulumi.Resource]


class EksCluster(Platform):
    """An EKS cluster. Its control plane is protected with the component; node groups come and go."""

    TOKEN = "dra-fleet:platforms:EksCluster"  # noqa: S105 - a type token

    def __init__(self, name: str, args: EksClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        settings = args.settings
        super().__init__(
            name,
            {
                "cloud": "eks",
                "kubernetes": args.kubernetes,
                "region": settings.region,
                "adopted": settings.adopt is not None,
            },
            opts,
        )
        aws = pulumi_aws.Provider(
            logical(name, "aws"),
            region=settings.region,
            allowed_account_ids=None if settings.account is None else [settings.account],
            opts=pulumi.ResourceOptions(parent=self),
        )
        # Protected with the component: these options are its own, not those of what lives in the cluster.
        own = pulumi.ResourceOptions(parent=self, provider=aws, depends_on=self._after)
        place = (
            self._adopted(name, args, settings.adopt, own)
            if settings.adopt
            else self._created(name, args, own)
        )
        groups = [self._pool(name, args, plan, place, aws) for plan in args.pools]
        kubeconfig = pulumi.Output.secret(
            pulumi.Output.all(name=place.name, endpoint=place.endpoint, authority=place.authority).apply(
                lambda told: login_kubeconfig(
                    name, told["name"], settings.region, told["endpoint"], told["authority"]
                )
            )
        )
        provider = self.enter(name, kubeconfig, after=[*place.after, *groups])
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @classmethod
    def planned(cls, plan: ClusterPlan, secret: SecretReader) -> Declaration:
        """Take the cluster's settings; it needs no secret."""
        del secret
        settings = plan.settings
        if not isinstance(settings, EksClusterSettings):
            raise TypeError(f"cluster {plan.name} is no EKS cluster but {plan.cloud}")
        args = EksClusterArgs(kubernetes=plan.kubernetes, settings=settings, pools=plan.pools)
        return lambda opts: cls(plan.name, args, opts)

    def _adopted(
        self, name: str, args: EksClusterArgs, adopt: AdoptEks, own: pulumi.ResourceOptions
    ) -> _Place:
        region = args.settings.region
        asked = eks.get_cluster_output(
            name=adopt.name, opts=pulumi.InvokeOutputOptions(parent=self, provider=own.provider)
        )
        found = readable(
            asked,
            name,
            known_as=f"EKS cluster {adopt.name} in region {region}",
            listing=f"aws eks list-clusters --region {region}",
            permission="the permission eks:DescribeCluster",
        )
        nodes = role(logical(name, "node"), "ec2.amazonaws.com", NODE_POLICIES, adopt.node_role, own)
        return _Place(
            # Its node groups wait for the answer: none is asked for in a cluster that is not there.
            name=found.apply(lambda _: adopt.name),
            subnets=adopt.subnets,
            node_role=nodes.arn,
            vpc=found.vpc_config.vpc_id,
            security_group=found.vpc_config.cluster_security_group_id,
            endpoint=found.endpoint,
            authority=found.certificate_authorities[0].data,
            service_range=found.kubernetes_network_configs[0].service_ipv4_cidr,
            after=nodes.attached,
        )

    def _created(self, name: str, args: EksClusterArgs, own: pulumi.ResourceOptions) -> _Place:
        settings, create = args.settings, args.settings.create
        if create is None:
            raise ValueError(f"cluster {name} is neither created nor adopted")
        network = _network(name, create, own)
        control = role(
            logical(name, "cluster"), "eks.amazonaws.com", CLUSTER_POLICIES, create.cluster_role, own
        )
        nodes = role(logical(name, "node"), "ec2.amazonaws.com", NODE_POLICIES, create.node_role, own)
        subnets = [network.subnets[zone] for zone in sorted(network.subnets)]
        cluster = eks.Cluster(
            name,
            cluster_arguments(name, args.kubernetes, settings, control.arn, subnets),
            opts=pulumi.ResourceOptions.merge(
                own, pulumi.ResourceOptions(depends_on=[*control.attached, *network.ready])
            ),
        )
        admins = administrators(name, cluster.name, settings.access.admins if settings.access else (), own)
        first = [self._addon(name, addon, settings, cluster, own) for addon in _BEFORE_NODES]
        joinable = [cluster, *nodes.attached, *network.ready, *first]
        system = eks.NodeGroup(
            logical(name, "system"),
            system_arguments(
                args.kubernetes,
                settings,
                GroupHome(cluster=cluster.name, role=nodes.arn, subnets=subnets),
            ),
            opts=self._group_opts(own, joinable, scaled=True),
        )
        after_system = pulumi.ResourceOptions.merge(own, pulumi.ResourceOptions(depends_on=[system]))
        chosen = sorted(set(settings.addons) - {*_BEFORE_NODES, *_AFTER_NODES})
        later = [
            self._addon(name, addon, settings, cluster, after_system) for addon in (*_AFTER_NODES, *chosen)
        ]
        return _Place(
            name=cluster.name,
            subnets=network.subnets,
            node_role=nodes.arn,
            vpc=cluster.vpc_config.apply(lambda config: config.vpc_id or ""),
            security_group=cluster.vpc_config.apply(lambda config: config.cluster_security_group_id or ""),
            endpoint=cluster.endpoint,
            authority=cluster.certificate_authority.apply(lambda told: told.data or ""),
            service_range=cluster.kubernetes_network_config.apply(lambda told: told.service_ipv4_cidr or ""),
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

    def _pool(
        self, name: str, args: EksClusterArgs, plan: PoolPlan, place: _Place, aws: pulumi_aws.Provider
    ) -> eks.NodeGroup:
        pool = args.settings.pools[plan.name]
        part = logical(name, plan.name)
        opts = self.child_opts(pulumi.ResourceOptions(provider=aws))
        placement = ec2.PlacementGroup(part, strategy="cluster", opts=opts) if placed_together(pool) else None
        template = ec2.LaunchTemplate(
            part,
            template_arguments(
                plan,
                pool,
                self._groups(part, pool, place, opts),
                None if placement is None else placement.name,
                _user_data(plan, pool, place),
            ),
            opts=opts,
        )
        home = GroupHome(
            cluster=place.name,
            role=place.node_role,
            subnets=[place.subnets[zone] for zone in zones_of(pool, args.settings)],
        )
        version = eks.NodeGroupLaunchTemplateArgs(id=template.id, version=template.latest_version.apply(str))
        return eks.NodeGroup(
            part,
            group_arguments(args.kubernetes, plan, args.settings, home, version),
            opts=self._group_opts(opts, place.after, scaled=plan.min_nodes < plan.max_nodes),
        )

    def _groups(
        self, part: str, pool: EksPoolSettings, place: _Place, opts: pulumi.ResourceOptions
    ) -> list[pulumi.Input[str]]:
        """The security groups of EFA cards: the cluster's, and one that allows all traffic to itself."""
        if not pool.efa:
            return []
        if pool.security_group is not None:
            return [place.security_group, pool.security_group]
        made = ec2.SecurityGroup(
            logical(part, "efa"),
            description="EFA: all traffic between the nodes of one pool",
            vpc_id=place.vpc,
            ingress=[ec2.SecurityGroupIngressArgs(protocol="-1", from_port=0, to_port=0, self=True)],
            egress=[ec2.SecurityGroupEgressArgs(protocol="-1", from_port=0, to_port=0, self=True)],
            opts=opts,
        )
        return [place.security_group, made.id]

    def _group_opts(
        self, opts: pulumi.ResourceOptions, after: Sequence[pulumi.Resource], *, scaled: bool
    ) -> pulumi.ResourceOptions:
        # The autoscaler moves it between the bounds.
        ignored = ["scalingConfig.desiredSize"] if scaled else None
        more = pulumi.ResourceOptions(depends_on=list(after), ignore_changes=ignored)
        return pulumi.ResourceOptions.merge(opts, more)


def _network(name: str, create: CreateEks, own: pulumi.ResourceOptions) -> Network:
    if create.network is not None:
        return small_network(name, create.network, own)
    return Network(subnets=create.subnets, ready=[])


def _user_data(plan: PoolPlan, pool: EksPoolSettings, place: _Place) -> pulumi.Input[str] | None:
    """What the nodes are told; the images of EKS know how to join by themselves."""
    if isinstance(pool.image, OwnImage):
        return pulumi.Output.all(
            cluster=place.name,
            endpoint=place.endpoint,
            authority=place.authority,
            service_range=place.service_range,
        ).apply(lambda told: joining(Joining(**told), plan))
    image = image_of(plan.machine, pool)
    return plugin_off() if image is not None and image.plugin and not pool.device_plugin else None


COMPONENT = EksCluster
