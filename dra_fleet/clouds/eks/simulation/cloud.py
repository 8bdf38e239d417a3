"""The simulated AWS as the simulator sees it: one answer for each call of a plugin."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.clouds.eks.simulation.account import (
    ACCOUNT,
    BUILDS,
    DEFAULT,
    EksAccount,
    account_of,
    refuse,
    region_of,
)
from dra_fleet.clouds.eks.simulation.api import AwsApi
from dra_fleet.clouds.eks.simulation.clusters import EksClusters
from dra_fleet.clouds.eks.simulation.group_nodes import find_type
from dra_fleet.clouds.eks.simulation.network_types import EksResourceType, network_types
from dra_fleet.clouds.eks.simulation.node_groups import NodeGroups
from dra_fleet.clouds.eks.simulation.small_types import CLUSTER, NODE_GROUP, small_types
from dra_fleet.rehearsal.clouds.cloud import CheckedInputs, TypeNotCoveredError, UpdateDiff
from dra_fleet.rehearsal.clouds.commands import SimulatedCommand, WrittenCommand, answer
from dra_fleet.rehearsal.clouds.typed_cloud import TypedCloud, made_of, missing_faults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import ApiReply, CloudRefusal, PluginResource, Properties
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.clouds.scaling import ScaledPool
    from dra_fleet.rehearsal.simulator.store import Store


# Answers of the simulated account to `aws`: login, quotas, offers, reservations, permissions, versions.
#
# The shapes are those of botocore's service models, to which a test holds them.

_NO_LIMIT: Final = 1_000_000.0

_ZONES: Final = "abcd"


def commands(account: EksAccount) -> list[SimulatedCommand]:
    return [
        SimulatedCommand(words=words, action=action, answer=partial(print_it, account))
        for words, action, print_it in _COMMANDS
    ]


def deny(action: str) -> CloudRefusal:
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


def _cluster(account: EksAccount, asked: WrittenCommand) -> dict[str, Any]:
    name = asked.one("--name")
    return {"cluster": {"name": _existing(account, CLUSTER, name)["id"]}}


def _group(account: EksAccount, asked: WrittenCommand) -> dict[str, Any]:
    cluster, name = asked.one("--cluster-name"), asked.one("--nodegroup-name")
    _existing(account, NODE_GROUP, f"{cluster}:{name}")
    return {"nodegroup": {"clusterName": cluster, "nodegroupName": name}}


def _existing(account: EksAccount, kind: str, identifier: str) -> Record:
    found = account.find(kind, identifier)
    if found is None:
        raise refuse("ResourceNotFoundException", f"No resource found for name: {identifier}.")
    return found


_COMMANDS: Final = (
    (("eks", "describe-cluster"), "eks:DescribeCluster", _cluster),
    (("eks", "describe-nodegroup"), "eks:DescribeNodegroup", _group),
    (("sts", "get-caller-identity"), "", _caller),
    (("service-quotas", "list-service-quotas"), "servicequotas:ListServiceQuotas", _quotas),
    (("ec2", "describe-instance-type-offerings"), "ec2:DescribeInstanceTypeOfferings", _offerings),
    (("ec2", "describe-capacity-reservations"), "ec2:DescribeCapacityReservations", _reservations),
    (("iam", "simulate-principal-policy"), "iam:SimulatePrincipalPolicy", _simulation),
    (("eks", "describe-cluster-versions"), "eks:DescribeClusterVersions", _versions),
)
"""The command, the action that it is for AWS, and what it prints."""

GET_CLUSTER: Final = "aws:eks/getCluster:getCluster"

GET_GROUPS: Final = "aws:eks/getNodeGroups:getNodeGroups"

GET_CALLER: Final = "aws:index/getCallerIdentity:getCallerIdentity"

GET_GROUP: Final = "aws:eks/getNodeGroup:getNodeGroup"

TOKEN_VALID: Final = timedelta(minutes=14)
"""https://docs.aws.amazon.com/eks/latest/userguide/cluster-auth.html"""

_DIGITS: Final = 7

_IAM: Final = "aws:iam/"


class SimulatedEks(TypedCloud[EksAccount, EksResourceType]):
    """The types that a rehearsed program declares, and EKS's function."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        account = EksAccount(store, planes)
        clusters = EksClusters(account)
        self._groups = NodeGroups(account, clusters)
        self._api = AwsApi(account, clusters)
        types: dict[str, EksResourceType] = {
            CLUSTER: clusters,
            NODE_GROUP: self._groups,
            **network_types(account),
            **small_types(account),
        }
        super().__init__(account, types)

    def check(
        self, resource: PluginResource, olds: Properties, news: Properties, digits: str
    ) -> CheckedInputs:
        """Complete and check inputs: a made name, shapes, enums and patterns of the API."""
        kind = self.kind_of(resource)
        inputs = dict(news)
        if kind.name_key is not None and inputs.get(kind.name_key) is None:
            inputs[kind.name_key] = olds.get(kind.name_key) or f"{resource.name}-{digits[:_DIGITS]}"
        failures = missing_faults(kind, inputs) or kind.faults(inputs)
        return CheckedInputs(inputs=inputs, failures=failures)

    @override
    def identify(self, resource: PluginResource, inputs: Properties) -> str:
        reported = made_of(resource, region_of(resource.config), inputs)
        return self.kind_of(resource).identifier(reported, inputs)

    @override
    def diff(self, resource: PluginResource, olds: Properties, news: Properties) -> UpdateDiff:
        """Compare old and new inputs; in another region, all but what IAM holds is another resource.

        https://hashicorp.github.io/terraform-provider-aws/enhanced-region-support
        """
        change = super().diff(resource, olds, news)
        record = self.account.find(resource.type, resource.identifier)
        stays = record is None or record["region"] == region_of(resource.config)
        moved = [] if stays or resource.type.startswith(_IAM) else ["region"]
        return UpdateDiff(
            changed=[*change.changed, *moved],
            replacing=[*change.replacing, *moved],
            beside=self.identify(resource, news) != resource.identifier,
        )

    @override
    def begun(self, resource: PluginResource) -> Record:
        return {"region": region_of(resource.config), "state": {}}

    @override
    def taken(self, identifier: str) -> CloudRefusal:
        return refuse(
            "ResourceInUseException", f"{identifier} already exists; import it, or choose another name"
        )

    @override
    def absent(self, identifier: str) -> CloudRefusal:
        return refuse("ResourceNotFoundException", f"{identifier} does not exist any more")

    async def invoke(self, token: str, arguments: Properties, config: Properties) -> Properties:
        """Answer a function: the login, a cluster, the names of its node groups, or one of them, as is."""
        if token == GET_CALLER:
            account = self.account.limits.login or account_of(config)
            user = f"arn:aws:iam::{account}:role/rehearsal"
            return {"id": account, "accountId": account, "arn": user, "userId": "rehearsal"}
        known = {GET_CLUSTER: "name", GET_GROUPS: "clusterName", GET_GROUP: "clusterName"}
        if token not in known:
            raise TypeNotCoveredError(self.account.title, "function", token, [GET_CALLER, *known])
        name = str(arguments.get(known[token]))
        cluster = self.account.find(CLUSTER, name)
        if cluster is None:
            raise refuse("ResourceNotFoundException", f"No cluster found for name: {name}.")
        if token == GET_CLUSTER:
            return _as_function(cluster)
        if token == GET_GROUPS:
            groups = [one["inputs"] for one in self.account.all(NODE_GROUP)]
            names = sorted(str(one["nodeGroupName"]) for one in groups if one["clusterName"] == name)
            return {"id": name, "clusterName": name, "names": names}
        return self._group(name, str(arguments.get("nodeGroupName")))

    def _group(self, cluster: str, name: str) -> Properties:
        record = self.account.find(NODE_GROUP, f"{cluster}:{name}")
        if record is None:
            raise refuse("ResourceNotFoundException", f"No node group found for name: {name}.")
        state = record["state"]
        return {**state, "id": record["id"], "scalingConfigs": [state["scalingConfig"]]}

    @override
    def scaled_pools(self) -> list[ScaledPool]:
        return self._groups.scaled_pools()

    @override
    def command(self, words: Sequence[str]) -> object:
        """Return the output of an `aws` command."""
        return answer(words, commands(self.account), self.account.limits.denied, deny)

    @override
    async def answer_api(self, path: str, headers: Mapping[str, str], body: bytes) -> ApiReply:
        return await self._api.answer(path, headers, body)

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """Return the token that `aws eks get-token` prints.

        As in reality, without a check that the cluster exists.
        """
        if not arguments.get("clusterName"):
            raise refuse("ValidationException", "the following arguments are required: --cluster-name")
        return self.account.credential(TOKEN_VALID)


def _as_function(record: Record) -> dict[str, Any]:
    state = record["state"]
    return {
        **state,
        "id": record["id"],
        "name": record["id"],
        "certificateAuthorities": [state["certificateAuthority"]],
        "kubernetesNetworkConfigs": [state["kubernetesNetworkConfig"]],
    }
