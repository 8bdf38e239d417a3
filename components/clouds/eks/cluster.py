"""A cluster of Elastic Kubernetes Service, created or adopted, with its GPU node groups.

Nothing secret gets into the state: the kubeconfig asks `aws eks get-token` for each token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pulumi
import pulumi_aws
from pulumi_aws import ec2, eks

from ...core.naming import logical
from ..adopting import readable
from ..logins import of_account
from ..platform import Platform, cluster_opts
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
from .sizes import GroupSizes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clouds.eks.cluster_plan import EksClusterPlan, EksCreation, EksGroupPlan
    from dra_fleet.model.plan import ClusterPlan

    from ..logins import Logins
    from ..platform import ClusterMade, Declaration, SecretReader

_BEFORE_NODES = ("kube-proxy", "vpc-cni")
_SUBNET, _ROLE = "the id of a subnet", "the ARN of an IAM role"
_AFTER_NODES = ("coredns", "eks-node-monitoring-agent")


@dataclass(frozen=True, kw_only=True)
class EksClusterArgs:
    """What an EKS cluster takes.

    Attributes:
        plan: what AWS is asked for.
        logins: those of the whole program, where there is one.
    """

    plan: EksClusterPlan
    logins: Logins | None = None


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

    def __init__(self, name: str, args: EksClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        plan = args.plan
        super().__init__(
            name,
            {
                "cloud": "eks",
                "kubernetes": plan.kubernetes,
                "region": plan.region,
                "adopted": plan.creates is None,
            },
            opts,
        )
        aws = pulumi_aws.Provider(
            logical(name, "aws"),
            region=plan.region,
            allowed_account_ids=None if plan.account is None else [plan.account],
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.admit(args.logins, self._login(name, plan, aws))
        # Protected with the component: these options are its own, not those of what lives in the cluster.
        own = pulumi.ResourceOptions(parent=self, provider=aws, depends_on=self._after)
        place = (
            self._adopted(name, plan, own)
            if plan.creates is None
            else self._created(name, plan, plan.creates, own)
        )
        groups = [self._group(name, group, place, aws) for group in plan.groups]
        kubeconfig = pulumi.Output.secret(
            pulumi.Output.all(name=place.name, endpoint=place.endpoint, authority=place.authority).apply(
                lambda told: login_kubeconfig(
                    name, told["name"], plan.region, told["endpoint"], told["authority"]
                )
            )
        )
        provider = self.enter(name, kubeconfig, cluster=place.cluster, after=[*place.after, *groups])
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @classmethod
    def planned(cls, plan: ClusterPlan, secret: SecretReader, logins: Logins) -> Declaration:
        """Take what AWS is asked for; it needs no secret."""
        del secret
        args = EksClusterArgs(plan=cast("EksClusterPlan", plan.own), logins=logins)
        return lambda opts: cls(plan.name, args, opts)

    def _login(self, name: str, plan: EksClusterPlan, aws: pulumi_aws.Provider) -> pulumi.Output[str] | None:
        if plan.account is None:
            return None
        asked = pulumi_aws.get_caller_identity_output(
            opts=pulumi.InvokeOutputOptions(parent=self, provider=aws)
        )
        return of_account(
            asked, lambda told: told.account_id, name, "account", plan.account, known_as="AWS account"
        )

    def _adopted(self, name: str, plan: EksClusterPlan, own: pulumi.ResourceOptions) -> _EksPlace:
        adopted = plan.adopts or plan.name
        known = self.elsewhere.text(adopted, "the cluster's name in AWS")
        asked = eks.get_cluster_output(
            name=known, opts=pulumi.InvokeOutputOptions(parent=self, provider=own.provider)
        )
        found = readable(
            asked,
            name,
            known_as=f"EKS cluster {adopted} in region {plan.region}",
            listing=f"aws eks list-clusters --region {plan.region}",
            permission="the permission eks:DescribeCluster",
        )
        given = self.elsewhere.given(plan.node_role, _ROLE)
        nodes = role(logical(name, "node"), "ec2.amazonaws.com", NODE_POLICIES, given, own)
        # Its node groups wait for the answer: none is asked for in a cluster that is not there.
        there = found.apply(lambda _: known)
        return _EksPlace(
            name=there,
            sizes=GroupSizes(cluster=there, made=None, parent=self, provider=own.provider),
            subnets=self.elsewhere.texts(plan.subnets, _SUBNET),
            node_role=nodes.arn,
            vpc=found.vpc_config.vpc_id,
            security_group=found.vpc_config.cluster_security_group_id,
            endpoint=found.endpoint,
            authority=found.certificate_authorities[0].data,
            service_range=found.kubernetes_network_configs[0].service_ipv4_cidr,
            cluster=(plan.region, known),
            after=nodes.attached,
        )

    def _created(
        self, name: str, plan: EksClusterPlan, creation: EksCreation, own: pulumi.ResourceOptions
    ) -> _EksPlace:
        network = (
            Network(subnets=self.elsewhere.texts(plan.subnets, _SUBNET), ready=[])
            if creation.network is None
            else small_network(name, creation.network, own)
        )
        own_role = self.elsewhere.given(creation.cluster_role, _ROLE)
        control = role(logical(name, "cluster"), "eks.amazonaws.com", CLUSTER_POLICIES, own_role, own)
        given = self.elsewhere.given(plan.node_role, _ROLE)
        nodes = role(logical(name, "node"), "ec2.amazonaws.com", NODE_POLICIES, given, own)
        subnets = [network.subnets[zone] for zone in sorted(network.subnets)]
        cluster = eks.Cluster(
            name,
            cluster_arguments(plan, creation, control.arn, subnets),
            opts=pulumi.ResourceOptions.merge(
                cluster_opts(own), pulumi.ResourceOptions(depends_on=[*control.attached, *network.ready])
            ),
        )
        admins = administrators(name, cluster.name, creation.admins, own)
        first = [self._addon(name, addon, creation, cluster, own) for addon in _BEFORE_NODES]
        joinable = [cluster, *nodes.attached, *network.ready, *first]
        sizes = GroupSizes(cluster=cluster.name, made=cluster, parent=self, provider=own.provider)
        system = eks.NodeGroup(
            logical(name, "system"),
            system_arguments(
                plan,
                creation,
                GroupHome(cluster=cluster.name, role=nodes.arn, subnets=subnets, sizes=sizes),
            ),
            opts=pulumi.ResourceOptions.merge(own, pulumi.ResourceOptions(depends_on=joinable)),
        )
        after_system = pulumi.ResourceOptions.merge(own, pulumi.ResourceOptions(depends_on=[system]))
        chosen = sorted(set(creation.addons) - {*_BEFORE_NODES, *_AFTER_NODES})
        later = [
            self._addon(name, addon, creation, cluster, after_system) for addon in (*_AFTER_NODES, *chosen)
        ]
        return _EksPlace(
            name=cluster.name,
            sizes=sizes,
            subnets=network.subnets,
            node_role=nodes.arn,
            vpc=cluster.vpc_config.apply(lambda config: config.vpc_id or ""),
            security_group=cluster.vpc_config.apply(lambda config: config.cluster_security_group_id or ""),
            endpoint=cluster.endpoint,
            authority=cluster.certificate_authority.apply(lambda told: told.data or ""),
            service_range=cluster.kubernetes_network_config.apply(lambda told: told.service_ipv4_cidr or ""),
            cluster=cluster,
            after=[*joinable, system, *admins, *later],
        )

    def _addon(
        self,
        name: str,
        addon: str,
        creation: EksCreation,
        cluster: eks.Cluster,
        opts: pulumi.ResourceOptions,
    ) -> eks.Addon:
        return eks.Addon(
            logical(name, addon),
            cluster_name=cluster.name,
            addon_name=addon,
            addon_version=creation.addons.get(addon),
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            opts=opts,
        )

    def _group(
        self, name: str, group: EksGroupPlan, place: _EksPlace, aws: pulumi_aws.Provider
    ) -> eks.NodeGroup:
        part = logical(name, group.key)
        opts = self.child_opts(pulumi.ResourceOptions(provider=aws))
        placement = ec2.PlacementGroup(part, strategy="cluster", opts=opts) if group.placed_together else None
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

    def _security_groups(
        self, part: str, group: EksGroupPlan, place: _EksPlace, opts: pulumi.ResourceOptions
    ) -> list[pulumi.Input[str]]:
        """The security groups of EFA cards: the cluster's, and one that allows all traffic to itself."""
        if group.cards is None:
            return []
        if group.security_group is not None:
            return [place.security_group, group.security_group]
        made = ec2.SecurityGroup(
            logical(part, "efa"),
            description="EFA: all traffic between the nodes of one pool",
            vpc_id=place.vpc,
            ingress=[ec2.SecurityGroupIngressArgs(protocol="-1", from_port=0, to_port=0, self=True)],
            egress=[ec2.SecurityGroupEgressArgs(protocol="-1", from_port=0, to_port=0, self=True)],
            opts=opts,
        )
        return [place.security_group, made.id]


def _user_data(group: EksGroupPlan, place: _EksPlace) -> pulumi.Input[str] | None:
    """What the nodes are told; the images of EKS know how to join by themselves."""
    if group.image_id is not None:
        return pulumi.Output.all(
            cluster=place.name,
            endpoint=place.endpoint,
            authority=place.authority,
            service_range=place.service_range,
        ).apply(lambda told: joining(Joining(**told), group))
    return plugin_off() if group.turns_plugin_off else None
