"""The simulated Alibaba Cloud: resource types and functions of the alicloud plugin."""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from typing_extensions import override

from dra_fleet.clouds.ack.facts import ack_facts, is_mainland
from dra_fleet.clouds.ack.simulation import GET_CREDENTIAL
from dra_fleet.clouds.ack.simulation.account import (
    ACCOUNT,
    ADDON,
    CLUSTER,
    INVALID,
    POOL,
    AckAccount,
    made_id,
    refuse,
    region_of,
)
from dra_fleet.clouds.ack.simulation.clusters import AckClusters, faults, fields_of
from dra_fleet.clouds.ack.simulation.pool_nodes import (
    cpus_in_use,
    find_type,
    let_join,
    pool_faults,
    refuse_beyond_limits,
    refuse_invalid,
    scaled_pool,
    scaling_of,
    size_of,
)
from dra_fleet.rehearsal.clouds import typed_cloud
from dra_fleet.rehearsal.clouds.cloud import CheckedInputs, TypeNotCoveredError, at
from dra_fleet.rehearsal.clouds.commands import SimulatedCommand, WrittenCommand, answer
from dra_fleet.rehearsal.clouds.neighbours import NeighbourType, neighbours
from dra_fleet.rehearsal.clouds.typed_cloud import TypedCloud, made_of, missing_faults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import CloudRefusal, PluginResource, Properties, WrongInput
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.clouds.scaling import ScaledPool
    from dra_fleet.rehearsal.simulator.store import Store


# Answers of the simulated account to `aliyun`: login, quotas, offers, reservations, policies, versions.
#
# The shapes are those of Alibaba Cloud's SDKs: https://github.com/aliyun/alibabacloud-python-sdk
# (sts-20150401, ecs-20140526, ram-20150501, cs-20151215).

_NO_LIMIT: Final = 1_000_000

_LETTERS: Final = "abcdefghijkl"

_POLICY: Final = "rehearsal"


def commands(account: AckAccount) -> list[SimulatedCommand]:
    return [
        SimulatedCommand(words=words, action=action, answer=partial(print_it, account))
        for words, action, print_it in _COMMANDS
    ]


def deny(action: str) -> CloudRefusal:
    return refuse("NoPermission", f"You are not authorized to do this action. Action: {action}")


def _caller(account: AckAccount, _: WrittenCommand) -> dict[str, Any]:
    login = account.limits.login or ACCOUNT
    return {"IdentityType": "RAMUser", "AccountId": login, "Arn": f"acs:ram::{login}:user/rehearsal"}


def _attributes(account: AckAccount, asked: WrittenCommand) -> dict[str, Any]:
    reported: list[dict[str, Any]] = []
    for option, (name, *_) in asked.options.items():
        if option.startswith("--AttributeName."):
            which, market, _ = name.split("-", 2)
            limit = account.limits.quotas.get(market, _NO_LIMIT)
            value = limit if which == "max" else cpus_in_use(account, market)
            reported.append(
                {"AttributeName": name, "AttributeValues": {"ValueItem": [{"Value": str(value)}]}}
            )
    return {"AccountAttributeItems": {"AccountAttributeItem": reported}}


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


def _clusters(account: AckAccount, _: WrittenCommand) -> dict[str, Any]:
    found = account.all(CLUSTER)
    return {"clusters": [{"name": item["inputs"]["name"], "cluster_id": item["id"]} for item in found]}


def _pools(account: AckAccount, asked: WrittenCommand) -> dict[str, Any]:
    cluster = asked.one("--ClusterId")
    if account.find(CLUSTER, cluster) is None:
        raise refuse("ErrorClusterNotFound", f"cluster {cluster} not found")
    shown = [
        {"name": item["inputs"]["nodePoolName"], "nodepool_id": item["id"].rpartition(":")[2]}
        for item in account.all(POOL, f"{cluster}:")
    ]
    return {"nodepools": [{"nodepool_info": item} for item in shown]}


_COMMANDS: Final = (
    (("cs", "DescribeClustersV1"), "cs:DescribeClustersV1", _clusters),
    (("cs", "DescribeClusterNodePools"), "cs:DescribeClusterNodePools", _pools),
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


class AckNodePools:
    """The type `alicloud:cs/nodePool:NodePool`.

    `release` in a record is its kubelets', `joined` what each of its machines was made of.
    """

    name_key = "nodePoolName"
    required = ("clusterId", "vswitchIds", "instanceTypes")

    def __init__(self, account: AckAccount, clusters: AckClusters) -> None:
        self._account = account
        self._clusters = clusters
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def replacing(self) -> frozenset[str]:
        """Inputs whose change needs a new pool."""
        return fields_of(POOL).replacing

    def faults(self, inputs: Properties) -> list[WrongInput]:
        return [*faults(POOL, inputs), *pool_faults(inputs)]

    def identifier(self, scope: str, inputs: Properties) -> str:
        """Return the ids of the pool's cluster and of the pool."""
        return f"{inputs['clusterId']}:{made_id('np', scope, length=32)}"

    async def create(self, record: Record) -> None:
        """Check and let the machines join."""
        cluster = str(record["inputs"]["clusterId"])
        async with self._turns[cluster]:
            self._check(record, had=0)
            record["release"] = self._clusters.of_id(cluster)["state"]["version"]
            self._settle(record)
            await self._clusters.join(cluster)

    async def update(self, record: Record, news: Properties) -> None:
        """Change the size, labels, taints or machines, which come, go and change."""
        cluster = str(record["inputs"]["clusterId"])
        async with self._turns[cluster]:
            self._check({**record, "inputs": news}, had=size_of(record["inputs"]))
            record["inputs"] = news
            record["release"] = at(news, "upgradePolicy.kubernetesVersion") or record["release"]
            self._settle(record)
            await self._clusters.join(cluster)

    async def delete(self, record: Record) -> None:
        """Take the machines out of the cluster.

        Raises:
            CloudRefusal: there are some, and no one said that they go too.
        """
        cluster = str(record["inputs"]["clusterId"])
        if size_of(record["inputs"]) and not record["inputs"].get("forceDelete"):
            raise refuse(
                INVALID,
                f"node pool {record['inputs'].get('nodePoolName')} has nodes and cannot be deleted; set "
                "force_delete, or take its nodes away first",
            )
        async with self._turns[cluster]:
            await self._clusters.join(cluster, without=record["id"])

    def _check(self, record: Record, *, had: int) -> None:
        cluster = self._clusters.of_id(str(record["inputs"]["clusterId"]))
        refuse_invalid(self._account, record, cluster)
        refuse_beyond_limits(self._account, record, had=had)

    def _settle(self, record: Record) -> None:
        inputs = record["inputs"]
        let_join(self._account, record)
        record["state"] = {
            "imageType": "AliyunLinux3",
            "instanceChargeType": "PostPaid",
            "multiAzPolicy": "PRIORITY",
            "runtimeName": "containerd",
            "runtimeVersion": "2.1.6",
            "spotStrategy": "NoSpot",
            **inputs,
            "nodePoolId": str(record["id"]).partition(":")[2],
            "scalingGroupId": made_id("asg-bp1", record["urn"]),
        }
        self._account.put(record)


class AckResourceType(typed_cloud.ResourceType, Protocol):
    """A resource type. `name_key`: the input with its name; generated by default."""

    @property
    def name_key(self) -> str | None: ...

    def identifier(self, scope: str, inputs: Properties, /) -> str: ...


GET_CALLER: Final = "alicloud:index/getCallerIdentity:getCallerIdentity"

GET_CLUSTERS: Final = "alicloud:cs/getManagedKubernetesClusters:getManagedKubernetesClusters"

GET_POOLS: Final = "alicloud:cs/getKubernetesNodePools:getKubernetesNodePools"

TOKEN_VALID: Final = timedelta(minutes=15)
"""https://github.com/AliyunContainerService/ack-ram-tool, `pkg/ramauthenticator`."""

_DIGITS: Final = 7


class SimulatedAck(TypedCloud[AckAccount, AckResourceType]):
    """The types that a rehearsed program declares, and ACK's functions."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        account = AckAccount(store, planes)
        self._clusters = AckClusters(account)

        def in_cluster(record: Record) -> None:
            if record["type"] == ADDON:
                self._clusters.of_id(str(record["inputs"]["clusterId"]))

        types: dict[str, AckResourceType] = {
            kind: NeighbourType(account=account, facts=facts, needs=in_cluster)
            for kind, facts in neighbours("ack").items()
        }
        types |= {CLUSTER: self._clusters, POOL: AckNodePools(account, self._clusters)}
        super().__init__(account, types)

    def check(
        self, resource: PluginResource, olds: Properties, news: Properties, digits: str
    ) -> CheckedInputs:
        """Complete and check inputs: a made name, the provider's schema and its listed values."""
        kind = self.kind_of(resource)
        inputs = dict(news)
        name = kind.name_key
        if name is not None and inputs.get(name) is None and inputs.get("name") is None:
            inputs[name] = olds.get(name) or f"{resource.name}-{digits[:_DIGITS]}"
        failures = missing_faults(kind, inputs) or kind.faults(inputs)
        return CheckedInputs(inputs=inputs, failures=failures)

    @override
    def identify(self, resource: PluginResource, inputs: Properties) -> str:
        reported = made_of(resource, region_of(resource.config), inputs)
        return self.kind_of(resource).identifier(made_id("", reported), inputs)

    @override
    def begun(self, resource: PluginResource) -> Record:
        return {"region": region_of(resource.config), "state": {}}

    @override
    def taken(self, identifier: str) -> CloudRefusal:
        return refuse(
            "EntityAlreadyExists", f"{identifier} already exists; import it, or choose another name"
        )

    @override
    def absent(self, identifier: str) -> CloudRefusal:
        return refuse("NotFound", f"{identifier} does not exist any more")

    async def invoke(self, token: str, arguments: Properties, config: Properties) -> Properties:
        """Answer a function: the login, clusters by id or name, the pools of one, or how to log in to it."""
        if token == GET_CALLER:
            account = self.account.limits.login or str(config.get("accountId") or ACCOUNT)
            return {"id": account, "accountId": account, "arn": f"acs:ram::{account}:user/rehearsal"}
        if token == GET_CREDENTIAL:
            return self._clusters.credential(self._clusters.of_id(str(arguments.get("clusterId"))))
        if token == GET_CLUSTERS:
            return self._found_clusters(arguments)
        if token == GET_POOLS:
            return self._found_pools(arguments)
        known = [GET_CALLER, GET_CLUSTERS, GET_CREDENTIAL, GET_POOLS]
        raise TypeNotCoveredError(self.account.title, "function", token, known)

    def _found_clusters(self, arguments: Properties) -> Properties:
        requested, pattern = arguments.get("ids"), str(arguments.get("nameRegex") or "")
        clusters = [
            {**record["state"], "id": record["id"], "state": "running"}
            for record in self.account.all(CLUSTER)
            if not (requested and record["id"] not in requested)
            and re.search(pattern, str(record["inputs"]["name"]))
        ]
        return {
            **arguments,
            "id": made_id("", *(cluster["id"] for cluster in clusters)),
            "ids": [cluster["id"] for cluster in clusters],
            "names": [cluster["name"] for cluster in clusters],
            "clusters": clusters,
        }

    def _found_pools(self, arguments: Properties) -> Properties:
        cluster = self._clusters.of_id(str(arguments.get("clusterId")))
        pools = [record["state"] for record in self.account.all(POOL, f"{cluster['id']}:")]
        ids = [pool["nodePoolId"] for pool in pools]
        return {**arguments, "id": cluster["id"], "ids": ids, "nodepools": pools}

    @override
    def scaled_pools(self) -> list[ScaledPool]:
        return [
            scaled_pool(self.account, record, self._clusters.of_id(str(record["inputs"]["clusterId"])))
            for record in self.account.all(POOL)
            if record["state"] and scaling_of(record["inputs"]) is not None
        ]

    @override
    def command(self, words: Sequence[str]) -> object:
        """Return the output of an `aliyun` command."""
        return answer(words, commands(self.account), self.account.limits.denied, deny)

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """Return the token that `ack-ram-tool` prints.

        As in reality, without a check that the cluster exists.
        """
        if not arguments.get("clusterId"):
            raise refuse(INVALID, 'required flag(s) "cluster-id" not set')
        return self.account.credential(TOKEN_VALID)


def _stock(account: AckAccount, machine: str, zone: str) -> str:
    return "SoldOut" if account.limits.is_out_of_stock(machine, zone) else "Available"
