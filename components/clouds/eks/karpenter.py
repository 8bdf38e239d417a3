"""Karpenter's rights in a cluster's account, and a NodePool with its EC2NodeClass for each of its pools.

Source: https://karpenter.sh/docs/reference/cloudformation/ and https://karpenter.sh/docs/concepts/nodepools/.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi_aws import eks, iam
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta import v1 as meta

from dra_fleet.clouds.eks.karpenter import NAME, NAMESPACE
from dra_fleet.clouds.eks.resources import DYNAMIC_RESOURCES
from dra_fleet.clouds.eks.settings import OwnImage
from dra_fleet.drivers.common.values import merged

from ...core.identity import logical

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .arguments import Group

_READS = (
    "ec2:DescribeCapacityReservations", "ec2:DescribeImages", "ec2:DescribeInstanceStatus",
    "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstanceTypes", "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplates", "ec2:DescribePlacementGroups", "ec2:DescribeSecurityGroups",
    "ec2:DescribeSpotPriceHistory", "ec2:DescribeSubnets", "iam:GetInstanceProfile",
    "iam:ListInstanceProfiles", "pricing:GetProducts", "ssm:GetParameter",
)  # fmt: skip
_CREATES = ("ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances", "iam:CreateInstanceProfile")
_CHANGES = ("ec2:DeleteLaunchTemplate", "ec2:TerminateInstances")
_PROFILES = (
    "iam:AddRoleToInstanceProfile", "iam:DeleteInstanceProfile", "iam:RemoveRoleFromInstanceProfile",
    "iam:TagInstanceProfile",
)  # fmt: skip


def trust(service: str) -> str:
    """Return the policy that lets a service assume a role; EKS tags its sessions."""
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": ["sts:AssumeRole", "sts:TagSession"] if "eks." in service else "sts:AssumeRole",
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]}, sort_keys=True)


def controller_policy(cluster: str, arn: str, node_role: str) -> str:
    """Return the rights of the controller: on tagged resources of its cluster alone.

    Args:
        cluster: Name of the cluster.
        arn: ARN of the cluster.
        node_role: ARN of the nodes' role.
    """
    tag = f"kubernetes.io/cluster/{cluster}"
    requested = {"StringEquals": {f"aws:RequestTag/{tag}": "owned"}}
    tagged = {"StringEquals": {f"aws:ResourceTag/{tag}": "owned"}}
    existing = [f"arn:*:ec2:*:*:{kind}/*" for kind in ("subnet", "security-group", "capacity-reservation")]
    images = ["arn:*:ec2:*::image/*", "arn:*:ec2:*::snapshot/*"]
    service = {"StringLike": {"iam:PassedToService": "ec2.amazonaws.com*"}}
    statements: list[tuple[Sequence[str], object, object]] = [
        (_READS, "*", None),
        (["eks:DescribeCluster"], arn, None),
        (["ec2:CreateFleet", "ec2:RunInstances"], [*existing, *images], None),
        (["ec2:CreateFleet", "ec2:RunInstances"], "arn:*:ec2:*:*:launch-template/*", tagged),
        (_CREATES, "*", requested),
        (["ec2:CreateTags"], "*", {"StringEquals": {"ec2:CreateAction": [one[4:] for one in _CREATES[:3]]}}),
        ([*_CHANGES, *_PROFILES, "ec2:CreateTags"], "*", tagged),
        (["iam:PassRole"], node_role, service),
    ]
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": list(actions),
                    "Resource": resource,
                    **({"Condition": condition} if condition else {}),
                }
                for actions, resource, condition in statements
            ],
        },
        sort_keys=True,
    )


def controller_rights(
    name: str, cluster: eks.Cluster, node_role: pulumi.Input[str], opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """Declare the controller's role and let its pods use it.

    The nodes use the role of the system node group, to which EKS has given access to the cluster.
    """
    part = logical(name, NAME)
    role = iam.Role(part, assume_role_policy=trust("pods.eks.amazonaws.com"), opts=opts)
    known = pulumi.Output.all(cluster.name, cluster.arn, node_role)
    policy = iam.RolePolicy(
        part, role=role.name, policy=known.apply(lambda one: controller_policy(*one)), opts=opts
    )
    identity = eks.PodIdentityAssociation(
        part,
        cluster_name=cluster.name,
        namespace=NAMESPACE,
        service_account=NAME,
        role_arn=role.arn,
        opts=opts,
    )
    return [policy, identity]


def node_pool(
    group: Group,
    node_class: Mapping[str, Any],
    extra: Mapping[str, Any],
    labels: Mapping[str, str],
    opts: pulumi.ResourceOptions,
) -> CustomResource:
    """Declare a pool's EC2NodeClass and its NodePool.

    Args:
        group: The pool.
        node_class: Spec of the EC2NodeClass: role, subnets, security groups.
        extra: Further fields of the NodePool's spec; `nodeClass` has those of the EC2NodeClass.
        labels: Labels of both.
        opts: Options of both.
    """
    part, name = logical(group.cluster.name, group.plan.name), group.plan.name
    further = dict(extra)
    own = CustomResource(  # pyright: ignore[reportUnknownMemberType] - the SDK leaves one argument untyped
        part,
        api_version="karpenter.k8s.aws/v1",
        kind="EC2NodeClass",
        metadata=meta.ObjectMetaArgs(name=name, labels=labels),
        spec=merged({**node_class, **_image(group)}, further.pop("nodeClass", {})),
        opts=opts,
    )
    return CustomResource(  # pyright: ignore[reportUnknownMemberType] - as above
        part,
        api_version="karpenter.sh/v1",
        kind="NodePool",
        metadata=meta.ObjectMetaArgs(name=name, labels=labels, annotations={DYNAMIC_RESOURCES: "true"}),
        spec=merged(_pool_spec(group), further),
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[own])),
    )


def _image(group: Group) -> dict[str, Any]:
    pool = group.pool
    disk = {"volumeSize": f"{pool.disk}Gi", "volumeType": "gp3", "encrypted": True}
    return {
        "amiSelectorTerms": [{"id": pool.image.id}]
        if isinstance(pool.image, OwnImage)
        else [{"alias": "al2023@latest"}],
        **({"amiFamily": "AL2023"} if isinstance(pool.image, OwnImage) else {}),
        "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": disk}],
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 2},
    }


def _pool_spec(group: Group) -> dict[str, Any]:
    plan = group.plan
    required = {
        "node.kubernetes.io/instance-type": [plan.machine.name],
        "topology.kubernetes.io/zone": list(group.zones),
        "karpenter.sh/capacity-type": ["spot" if group.pool.capacity == "SPOT" else "on-demand"],
    }
    return {
        "template": {
            "metadata": {"labels": dict(plan.labels)},
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": plan.name},
                "requirements": [
                    {"key": key, "operator": "In", "values": values} for key, values in required.items()
                ],
                "taints": [
                    {"key": one.key, "effect": one.effect, **({"value": one.value} if one.value else {})}
                    for one in plan.taints
                ],
                "expireAfter": "Never",
            },
        },
        # Karpenter 1.15.0 exceeds `nodes` for pods that arrive together (subtractMax in scheduler.go).
        "limits": {"nodes": str(plan.max_nodes), "cpu": str(plan.max_nodes * plan.machine.cpus)},
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"},
    }
