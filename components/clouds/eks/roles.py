"""The IAM roles of an EKS cluster and of its nodes, and who else may administer it.

Source: https://docs.aws.amazon.com/eks/latest/userguide/security-iam.html
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulumi_aws import eks, iam

from ...core.naming import logical

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pulumi

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
    """The role that is given, or a new one.

    Args:
        name: its logical name.
        service: who takes the role, such as eks.amazonaws.com.
        policies: AWS's own policies, by name.
        given: the ARN of a role that exists.
        opts: parent and provider.
    """
    if given is not None:
        return IamRole(arn=given, attached=[])
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": ["sts:AssumeRole", "sts:TagSession"] if service.startswith("eks") else "sts:AssumeRole",
    }
    made = iam.Role(
        name,
        assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}, sort_keys=True),
        opts=opts,
    )
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
