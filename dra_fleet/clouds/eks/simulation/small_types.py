"""IAM roles, placement groups, launch templates, and what belongs to an EKS cluster but has no machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.eks.simulation.account import ACCOUNT, arn, made_id
from dra_fleet.clouds.eks.simulation.network_types import Model, PlainType

if TYPE_CHECKING:
    from dra_fleet.clouds.eks.simulation.account import EksAccount
    from dra_fleet.clouds.eks.simulation.network_types import EksResourceType
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties

ROLE: Final = "aws:iam/role:Role"
ATTACHMENT: Final = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
PLACEMENT: Final = "aws:ec2/placementGroup:PlacementGroup"
TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
CLUSTER: Final = "aws:eks/cluster:Cluster"
NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
ADDON: Final = "aws:eks/addon:Addon"
ENTRY: Final = "aws:eks/accessEntry:AccessEntry"
INSTANCE: Final = "aws:ec2/instance:Instance"
PROFILE: Final = "aws:iam/instanceProfile:InstanceProfile"
ROLE_POLICY: Final = "aws:iam/rolePolicy:RolePolicy"
POD_IDENTITY: Final = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
POLICY: Final = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"


class LaunchTemplates(PlainType, frozen=True):
    """Launch templates: every change is a new version."""

    async def update(self, record: Record, news: Properties) -> None:
        """Add a version."""
        record["version"] = int(record.get("version", 1)) + 1
        await super().update(record, news)


def small_types(account: EksAccount) -> dict[str, EksResourceType]:
    """All of them, by token."""
    return {
        ROLE: PlainType(
            account=account,
            model=Model(
                service="iam",
                operation="CreateRole",
                names={"name": "RoleName", "assumeRolePolicy": "AssumeRolePolicyDocument"},
                beside=frozenset({"forceDetachPolicies"}),
            ),
            named=lambda inputs: str(inputs["name"]),
            outputs=_role,
            name_key="name",
            replacing=frozenset({"name", "path"}),
            required=("assumeRolePolicy",),
            holds={ATTACHMENT: "role", ROLE_POLICY: "role"},
        ),
        ATTACHMENT: PlainType(
            account=account,
            model=Model(service="iam", operation="AttachRolePolicy", names={"role": "RoleName"}),
            named=lambda inputs: f"{inputs['role']}-{str(inputs['policyArn']).rpartition('/')[2]}",
            outputs=lambda _: {},
            replacing=frozenset({"policyArn", "role"}),
            required=("role", "policyArn"),
            needs={"role": ROLE},
            not_found="NoSuchEntity",
        ),
        ROLE_POLICY: PlainType(
            account=account,
            model=Model(
                service="iam",
                operation="PutRolePolicy",
                names={"role": "RoleName", "policy": "PolicyDocument", "name": "PolicyName"},
                beside=frozenset({"namePrefix"}),
            ),
            named=lambda inputs: f"{inputs['role']}:{inputs['name']}",
            outputs=lambda _: {},
            name_key="name",
            replacing=frozenset({"name", "role"}),
            required=("role", "policy"),
            needs={"role": ROLE},
            not_found="NoSuchEntity",
        ),
        POD_IDENTITY: PlainType(
            account=account,
            model=Model(service="eks", operation="CreatePodIdentityAssociation"),
            prefix="a",
            outputs=lambda record: {"associationId": record["id"]},
            replacing=frozenset({"clusterName", "namespace", "serviceAccount"}),
            required=("clusterName", "namespace", "roleArn", "serviceAccount"),
            needs={"clusterName": CLUSTER},
        ),
        PLACEMENT: PlainType(
            account=account,
            model=Model(service="ec2", operation="CreatePlacementGroup", names={"name": "GroupName"}),
            named=lambda inputs: str(inputs["name"]),
            outputs=_placement,
            name_key="name",
            replacing=frozenset({"name", "partitionCount", "spreadLevel", "strategy"}),
            required=("strategy",),
        ),
        TEMPLATE: LaunchTemplates(
            account=account,
            model=Model(
                service="ec2",
                operation="CreateLaunchTemplate",
                below="LaunchTemplateData",
                names={
                    "vpcSecurityGroupIds": "SecurityGroupIds",
                    "securityGroupNames": "SecurityGroups",
                    "networkInterfaces.securityGroups": "Groups",
                    "networkInterfaces.ipv4Addresses": "PrivateIpAddresses",
                },
                beside=frozenset(
                    {"defaultVersion", "description", "name", "namePrefix", "updateDefaultVersion"}
                ),
            ),
            prefix="lt",
            outputs=_template,
            name_key="name",
            replacing=frozenset({"name"}),
        ),
        ADDON: PlainType(
            account=account,
            model=Model(
                service="eks",
                operation="CreateAddon",
                names={"resolveConflictsOnCreate": "resolveConflicts"},
                beside=frozenset({"preserve", "resolveConflictsOnUpdate"}),
            ),
            named=lambda inputs: f"{inputs['clusterName']}:{inputs['addonName']}",
            outputs=_addon,
            replacing=frozenset({"addonName", "clusterName"}),
            required=("addonName", "clusterName"),
            needs={"clusterName": CLUSTER},
        ),
        ENTRY: PlainType(
            account=account,
            model=Model(service="eks", operation="CreateAccessEntry", names={"userName": "username"}),
            named=lambda inputs: f"{inputs['clusterName']}:{inputs['principalArn']}",
            outputs=_entry,
            replacing=frozenset({"clusterName", "principalArn", "type"}),
            required=("clusterName", "principalArn"),
            needs={"clusterName": CLUSTER},
        ),
        POLICY: PlainType(
            account=account,
            model=Model(service="eks", operation="AssociateAccessPolicy"),
            named=lambda inputs: f"{inputs['clusterName']}#{inputs['principalArn']}#{inputs['policyArn']}",
            outputs=lambda _: {},
            replacing=frozenset({"accessScope", "clusterName", "policyArn", "principalArn"}),
            required=("accessScope", "clusterName", "policyArn", "principalArn"),
            needs={"clusterName": CLUSTER},
        ),
    }


def _role(record: Record) -> Properties:
    return {
        "arn": f"arn:aws:iam::{ACCOUNT}:role/{record['id']}",
        "uniqueId": made_id("AROA", record["urn"]).upper(),
    }


def _placement(record: Record) -> Properties:
    return {
        "arn": arn("ec2", record["region"], f"placement-group/{record['id']}"),
        "placementGroupId": made_id("pg", record["urn"]),
    }


def _template(record: Record) -> Properties:
    version = int(record.get("version", 1))
    return {
        "arn": arn("ec2", record["region"], f"launch-template/{record['id']}"),
        "defaultVersion": version if record["inputs"].get("updateDefaultVersion") else 1,
        "latestVersion": version,
    }


def _addon(record: Record) -> Properties:
    inputs = record["inputs"]
    return {
        "addonVersion": inputs.get("addonVersion") or "v1.0.0-eksbuild.1",
        "arn": arn("eks", record["region"], f"addon/{inputs['clusterName']}/{inputs['addonName']}"),
        "createdAt": "2026-11-21T00:00:00Z",
        "modifiedAt": "2026-11-21T00:00:00Z",
    }


def _entry(record: Record) -> Properties:
    inputs = record["inputs"]
    return {
        "accessEntryArn": arn("eks", record["region"], f"access-entry/{inputs['clusterName']}"),
        "type": inputs.get("type") or "STANDARD",
        "userName": inputs.get("userName") or inputs["principalArn"],
        "createdAt": "2026-11-21T00:00:00Z",
        "modifiedAt": "2026-11-21T00:00:00Z",
    }
