"""What the simulated account answers to `aliyun`: login, quotas, offers, reservations, policies, versions.

The shapes are those of Alibaba Cloud's SDKs: https://github.com/aliyun/alibabacloud-python-sdk
(sts-20150401, ecs-20140526, ram-20150501, cs-20151215).
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.clouds.ack.facts import ack_facts, is_mainland
from dra_fleet.clouds.ack.simulation.account import ACCOUNT, refuse
from dra_fleet.clouds.ack.simulation.pool_nodes import find_type
from dra_fleet.clouds.ack.simulation.pool_rules import cpus_in_use
from dra_fleet.rehearsal.clouds.commands import SimulatedCommand, WrittenCommand

if TYPE_CHECKING:
    from dra_fleet.clouds.ack.simulation.account import AckAccount
    from dra_fleet.rehearsal.clouds.cloud import CloudRefusal

_NO_LIMIT: Final = 1_000_000
_LETTERS: Final = "abcdefghijkl"
_POLICY: Final = "rehearsal"


def commands(account: AckAccount) -> list[SimulatedCommand]:
    """The commands that are simulated."""
    return [
        SimulatedCommand(words=words, action=action, answer=partial(print_it, account))
        for words, action, print_it in _COMMANDS
    ]


def deny(action: str) -> CloudRefusal:
    """The refusal of an action."""
    return refuse("NoPermission", f"You are not authorized to do this action. Action: {action}")


def _caller(account: AckAccount, _: WrittenCommand) -> dict[str, Any]:
    login = account.limits.login or ACCOUNT
    return {"IdentityType": "RAMUser", "AccountId": login, "Arn": f"acs:ram::{login}:user/rehearsal"}


def _attributes(account: AckAccount, asked: WrittenCommand) -> dict[str, Any]:
    told: list[dict[str, Any]] = []
    for option, (name, *_) in asked.options.items():
        if option.startswith("--AttributeName."):
            which, market, _ = name.split("-", 2)
            limit = account.limits.quotas.get(market, _NO_LIMIT)
            value = limit if which == "max" else cpus_in_use(account, market)
            told.append(
                {"AttributeName": name, "AttributeValues": {"ValueItem": [{"Value": str(value)}]}},
            )
    return {"AccountAttributeItems": {"AccountAttributeItem": told}}


def _available(account: AckAccount, asked: WrittenCommand) -> dict[str, Any]:
    region, machine = asked.one("--RegionId"), asked.one("--InstanceType")
    known = find_type(machine) is not None and not (
        machine.startswith(ack_facts().abroad.machines) and is_mainland(region)
    )
    dash = "" if region[-1].isdigit() else "-"
    zones = [f"{region}{dash}{letter}" for letter in _LETTERS] if known else []
    return {
        "AvailableZones": {
            "AvailableZone": [
                {
                    "ZoneId": zone,
                    "Status": "Available",
                    "AvailableResources": {
                        "AvailableResource": [
                            {
                                "Type": "InstanceType",
                                "SupportedResources": {
                                    "SupportedResource": [
                                        {"Value": machine, "Status": _stock(account, machine, zone)}
                                    ]
                                },
                            }
                        ]
                    },
                }
                for zone in zones
                if account.limits.is_offered(machine, zone)
            ]
        }
    }


def _stock(account: AckAccount, machine: str, zone: str) -> str:
    return "SoldOut" if account.limits.is_out_of_stock(machine, zone) else "Available"


def _private_pools(kind: str, account: AckAccount, asked: WrittenCommand) -> dict[str, Any]:
    region = asked.one("--RegionId")
    names: list[str] = json.loads(asked.one("--PrivatePoolOptions.Ids"))
    first = f"{region}{'' if region[-1].isdigit() else '-'}{_LETTERS[0]}"
    return {
        f"{kind}Set": {
            f"{kind}Item": [
                {
                    "PrivatePoolOptionsId": name,
                    "Status": "Active",
                    "AllocatedResources": {
                        "AllocatedResource": [
                            {"InstanceType": machine, "zoneId": zone or first, "TotalAmount": count}
                            for where, count in account.limits.reservations[name].items()
                            for machine, _, zone in [where.partition("/")]
                        ]
                    },
                }
                for name in names
                if name in account.limits.reservations
            ]
        }
    }


def _policies(_: AckAccount, __: WrittenCommand) -> dict[str, Any]:
    return {"Policies": {"Policy": [{"PolicyName": _POLICY, "PolicyType": "Custom", "DefaultVersion": "v1"}]}}


def _groups(_: AckAccount, __: WrittenCommand) -> dict[str, Any]:
    return {"Groups": {"Group": []}}


def _policy(account: AckAccount, asked: WrittenCommand) -> dict[str, Any]:
    statements = [{"Effect": "Allow", "Action": "*", "Resource": "*"}]
    statements += [{"Effect": "Deny", "Action": each, "Resource": "*"} for each in account.limits.denied]
    document = json.dumps({"Version": "1", "Statement": statements})
    return {
        "Policy": {"PolicyName": asked.one("--PolicyName"), "PolicyType": asked.one("--PolicyType")},
        "DefaultPolicyVersion": {"VersionId": "v1", "PolicyDocument": document},
    }


def _versions(_: AckAccount, __: WrittenCommand) -> list[dict[str, Any]]:
    return [{"version": version, "creatable": True} for version in ack_facts().versions]


_COMMANDS: Final = (
    (("sts", "GetCallerIdentity"), "", _caller),
    (("ecs", "DescribeAccountAttributes"), "ecs:DescribeAccountAttributes", _attributes),
    (("ecs", "DescribeAvailableResource"), "ecs:DescribeAvailableResource", _available),
    (
        ("ecs", "DescribeElasticityAssurances"),
        "ecs:DescribeElasticityAssurances",
        partial(_private_pools, "ElasticityAssurance"),
    ),
    (
        ("ecs", "DescribeCapacityReservations"),
        "ecs:DescribeCapacityReservations",
        partial(_private_pools, "CapacityReservation"),
    ),
    (("ram", "ListPoliciesForUser"), "ram:ListPoliciesForUser", _policies),
    (("ram", "ListGroupsForUser"), "ram:ListGroupsForUser", _groups),
    (("ram", "GetPolicy"), "ram:GetPolicy", _policy),
    (("cs", "DescribeKubernetesVersionMetadata"), "cs:DescribeKubernetesVersionMetadata", _versions),
)
"""The command, the action that it is for Alibaba Cloud, and what it prints."""
