"""What the simulated account answers to `aws`: login, quotas, offers, reservations, permissions, versions.

The shapes are those of botocore's service models, to which a test holds them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.clouds.eks.simulation.account import ACCOUNT, BUILDS, DEFAULT, refuse
from dra_fleet.clouds.eks.simulation.group_nodes import find_type
from dra_fleet.rehearsal.clouds.commands import SimulatedCommand, WrittenCommand

if TYPE_CHECKING:
    from dra_fleet.clouds.eks.simulation.account import EksAccount
    from dra_fleet.rehearsal.clouds.cloud import CloudRefusal

_NO_LIMIT: Final = 1_000_000.0
_ZONES: Final = "abcd"


def commands(account: EksAccount) -> list[SimulatedCommand]:
    """The commands that are simulated."""
    return [
        SimulatedCommand(words=words, action=action, answer=partial(print_it, account))
        for words, action, print_it in _COMMANDS
    ]


def deny(action: str) -> CloudRefusal:
    """The refusal of an action."""
    return refuse(
        "AccessDeniedException",
        f"User: arn:aws:iam::{ACCOUNT}:role/rehearsal is not authorized to perform: {action}",
    )


def _caller(account: EksAccount, _: WrittenCommand) -> dict[str, Any]:
    login = account.limits.login or ACCOUNT
    return {"UserId": "rehearsal", "Account": login, "Arn": f"arn:aws:iam::{login}:role/rehearsal"}


def _quotas(account: EksAccount, asked: WrittenCommand) -> dict[str, Any]:
    limits = account.limits.quotas
    return {
        "Quotas": [
            {
                "ServiceCode": asked.one("--service-code"),
                "QuotaCode": quota.code,
                "QuotaName": quota.name,
                "Value": float(limits.get(quota.bucket, _NO_LIMIT)),
                "Adjustable": True,
            }
            for quota in eks_facts().quotas
        ]
    }


def _offerings(account: EksAccount, asked: WrittenCommand) -> dict[str, Any]:
    region = asked.one("--region")
    _, _, values = asked.one("--filters").partition("Values=")
    return {
        "InstanceTypeOfferings": [
            {"InstanceType": name, "LocationType": "availability-zone", "Location": f"{region}{zone}"}
            for name in values.split(",")
            if find_type(name) is not None
            for zone in _ZONES
            if account.limits.is_offered(name, f"{region}{zone}")
        ]
    }


def _reservations(account: EksAccount, asked: WrittenCommand) -> dict[str, Any]:
    name, first = asked.one("--capacity-reservation-ids"), f"{asked.one('--region')}{_ZONES[0]}"
    kept = account.limits.reservations.get(name)
    if kept is None:
        raise refuse(
            "InvalidCapacityReservationId.NotFound", f"The Capacity Reservation '{name}' was not found"
        )
    return {
        "CapacityReservations": [
            {
                "CapacityReservationId": name,
                "InstanceType": machine,
                "AvailabilityZone": zone or first,
                "TotalInstanceCount": count,
                "AvailableInstanceCount": count,
                "State": "active",
            }
            for where, count in kept.items()
            for machine, _, zone in [where.partition("/")]
        ]
    }


def _simulation(account: EksAccount, asked: WrittenCommand) -> dict[str, Any]:
    denied = account.limits.denied
    return {
        "EvaluationResults": [
            {
                "EvalActionName": action,
                "EvalResourceName": "*",
                "EvalDecision": "implicitDeny" if action in denied else "allowed",
                "MissingContextValues": [],
            }
            for action in asked.options["--action-names"]
        ],
        "IsTruncated": False,
    }


def _versions(_: EksAccount, __: WrittenCommand) -> dict[str, Any]:
    return {
        "clusterVersions": [
            {"clusterVersion": minor, "clusterType": "eks", "defaultVersion": minor == DEFAULT}
            for minor in BUILDS
        ]
    }


_COMMANDS: Final = (
    (("sts", "get-caller-identity"), "", _caller),
    (("service-quotas", "list-service-quotas"), "servicequotas:ListServiceQuotas", _quotas),
    (("ec2", "describe-instance-type-offerings"), "ec2:DescribeInstanceTypeOfferings", _offerings),
    (("ec2", "describe-capacity-reservations"), "ec2:DescribeCapacityReservations", _reservations),
    (("iam", "simulate-principal-policy"), "iam:SimulatePrincipalPolicy", _simulation),
    (("eks", "describe-cluster-versions"), "eks:DescribeClusterVersions", _versions),
)
"""The command, the action that it is for AWS, and what it prints."""
