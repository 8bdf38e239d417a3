"""Managed node groups: their machines join and leave the cluster they belong to."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Final, cast

from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.clouds.eks.simulation.account import arn, bucket, full_version, refuse
from dra_fleet.clouds.eks.simulation.group_nodes import (
    DEFAULT_AMI,
    find_type,
    group_machines,
    size_of,
    template_of,
    type_of,
    zones_of,
)
from dra_fleet.clouds.eks.simulation.network_types import Model
from dra_fleet.clouds.eks.simulation.small_types import INSTANCE, NODE_GROUP
from dra_fleet.rehearsal.clouds.cloud import at
from dra_fleet.rehearsal.clouds.scaling import ScaledPool, numbers_of, scaled

if TYPE_CHECKING:
    from dra_fleet.clouds.eks.simulation.account import EksAccount
    from dra_fleet.clouds.eks.simulation.clusters import EksClusters
    from dra_fleet.clouds.eks.simulation.group_nodes import Ec2InstanceType
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput


# Rules of EKS and EC2 for a created or changed node group, beyond the shape of its inputs.
#
# https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html and
# https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html

_RESERVED: Final = ("eks.amazonaws.com/", "kubernetes.io/", "k8s.io/")

_LAST_AL2: Final = 32

_INVALID: Final = "InvalidParameterException"


def refuse_invalid(account: EksAccount, record: Record, minor: str) -> None:
    """Check one group by itself.

    Raises:
        CloudRefusal: EKS does not take it.
    """
    group = record["inputs"]
    kind = type_of(account, group)
    _refuse_scaling(group)
    _refuse_image(group, kind, minor)
    for label in cast("dict[str, str]", group.get("labels") or {}):
        if label.startswith(_RESERVED):
            raise refuse(
                _INVALID,
                f"Label cannot contain reserved prefixes [{', '.join(_RESERVED)}]: {label}; "
                "choose another prefix",
            )
    template = template_of(account, group)
    if template is not None:
        _refuse_template(group, template, kind)
    if group.get("capacityType") == "CAPACITY_BLOCK":
        _refuse_block(account, record, template)


def refuse_beyond_limits(account: EksAccount, record: Record, *, had: int) -> None:
    """Check a group against the account's quota and the zones' stock.

    Args:
        account: with the limits of the rehearsal.
        record: the group as it shall be.
        had: how many of its machines it has already.

    Raises:
        CloudRefusal: with AWS's own words.
    """
    group = record["inputs"]
    kind = type_of(account, group)
    more = size_of(group) - had
    if more <= 0:
        return
    _refuse_quota(account, record, kind, more, had=had)
    zones = zones_of(account, group, record["region"])
    empty = [zone for zone in zones if account.limits.is_out_of_stock(kind.name, zone)]
    if len(empty) == len(zones):
        market = "Spot" if group.get("capacityType") == "SPOT" else "On-Demand"
        raise refuse(
            "NodeCreationFailure",
            f"AsgInstanceLaunchFailures: Could not launch {market} Instances. InsufficientInstanceCapacity - "
            f"We currently do not have sufficient {kind.name} capacity in the Availability Zone you "
            f"requested ({', '.join(empty)}). Try later, another zone, or a capacity reservation",
        )


_MODEL: Final = Model(
    service="eks",
    operation="CreateNodegroup",
    names={"nodeGroupName": "nodegroupName", "nodeRoleArn": "nodeRole", "subnetIds": "subnets"},
    beside=frozenset({"forceUpdateVersion", "nodeGroupNamePrefix"}),
)


class NodeGroups:
    """The type `aws:eks/nodeGroup:NodeGroup`.

    What replaces: https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/eks/node_group.go
    """

    name_key = "nodeGroupName"
    required = ("clusterName", "nodeRoleArn", "scalingConfig", "subnetIds")
    replacing = frozenset(
        {
            "amiType", "capacityType", "clusterName", "diskSize", "instanceTypes", "launchTemplate.id",
            "launchTemplate.name", "nodeGroupName", "nodeRoleArn", "remoteAccess", "subnetIds",
        }
    )  # fmt: skip

    def __init__(self, account: EksAccount, clusters: EksClusters) -> None:
        self._account = account
        self._clusters = clusters
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def faults(self, inputs: Properties) -> list[WrongInput]:
        return _MODEL.faults(inputs)

    def identifier(self, urn: str, inputs: Properties) -> str:
        """Return the cluster's name and the group's."""
        del urn
        return f"{inputs['clusterName']}:{inputs['nodeGroupName']}"

    async def create(self, record: Record) -> None:
        """Check and let the machines join."""
        name = str(record["inputs"]["clusterName"])
        async with self._turns[name]:
            self._check(record, had=0)
            self._settle(record, "CREATING")
            await self._clusters.join(name)
            self._settle(record, "ACTIVE")

    async def update(self, record: Record, news: Properties) -> None:
        """Change the size, labels, taints or version; machines come, go and change."""
        name = str(record["inputs"]["clusterName"])
        async with self._turns[name]:
            had = int(record["inputs"]["scalingConfig"]["desiredSize"])
            self._check({**record, "inputs": news}, had=had)
            record["inputs"] = news
            self._settle(record, "ACTIVE")
            await self._clusters.join(name)

    async def delete(self, record: Record) -> None:
        """Take the machines out of the cluster."""
        name = str(record["inputs"]["clusterName"])
        async with self._turns[name]:
            record["state"]["status"] = "DELETING"
            self._account.put(record)
            await self._clusters.join(name)

    def scaled_pools(self) -> list[ScaledPool]:
        """Return the groups whose bounds differ: the Cluster Autoscaler finds these by their tags."""
        return [
            self._scaled_pool(record)
            for record in self._account.all(NODE_GROUP)
            if record["state"].get("status") == "ACTIVE"
            and record["inputs"]["scalingConfig"]["minSize"] < record["inputs"]["scalingConfig"]["maxSize"]
        ]

    def _scaled_pool(self, record: Record) -> ScaledPool:
        group, size = record["inputs"], size_of(record["inputs"])
        scaling = group["scalingConfig"]
        cluster = self._clusters.named(str(group["clusterName"]))

        def inputs_with(count: int, gone: int | None) -> Properties:
            return {**scaled(group, count, gone), "scalingConfig": {**scaling, "desiredSize": count}}

        larger = {**record, "inputs": {**group, "scalingConfig": {**scaling, "desiredSize": size + 1}}}
        found = group_machines(self._account, larger, str(cluster["state"]["version"]))
        return ScaledPool(
            cluster=cluster["simulator"],
            name=str(group["nodeGroupName"]),
            resource=(NODE_GROUP, record["id"]),
            least=int(scaling["minSize"]),
            most=int(scaling["maxSize"]),
            machines=dict(zip(numbers_of(group, size), found, strict=False)),
            fresh=found[-1],
            inputs_with=inputs_with,
        )

    def _check(self, record: Record, *, had: int) -> None:
        inputs = record["inputs"]
        cluster = self._clusters.named(str(inputs["clusterName"]))
        minor = str(cluster["state"]["version"])
        if inputs.get("version") and str(inputs["version"]) > minor:
            raise refuse(
                "InvalidParameterException",
                f"Nodegroup Kubernetes version {inputs['version']} is newer than the cluster's {minor}",
            )
        refuse_invalid(self._account, record, minor)
        refuse_beyond_limits(self._account, record, had=had)

    def _settle(self, record: Record, status: str) -> None:
        inputs = record["inputs"]
        cluster = self._clusters.named(str(inputs["clusterName"]))
        minor = str(inputs.get("version") or cluster["state"]["version"])
        name = str(inputs["nodeGroupName"])
        build = full_version(minor).partition("-")[0]
        record["state"] = {
            "amiType": "AL2023_x86_64_STANDARD",
            "capacityType": "ON_DEMAND",
            "diskSize": 0 if inputs.get("launchTemplate") else 20,
            "releaseVersion": f"{build}-20261101",
            **inputs,
            "arn": arn("eks", record["region"], f"nodegroup/{inputs['clusterName']}/{name}"),
            "resources": [{"autoscalingGroups": [{"name": f"eks-{name}"}]}],
            "status": status,
            "tagsAll": inputs.get("tags") or {},
            "version": minor,
        }
        self._account.put(record)


def _refuse_scaling(group: Properties) -> None:
    scaling = cast("Properties", group["scalingConfig"])
    low, high, size = int(scaling["minSize"]), int(scaling["maxSize"]), size_of(group)
    if not low <= size <= high:
        raise refuse(
            _INVALID,
            f"Minimum capacity {low} cannot be greater than desired {size}, nor that than maximum {high}; "
            "put desiredSize between minSize and maxSize",
        )


def _refuse_image(group: Properties, kind: Ec2InstanceType, minor: str) -> None:
    ami = str(group.get("amiType") or DEFAULT_AMI)
    image = eks_facts().image(ami)
    if image is None:
        return
    if image.arch != kind.arch:
        raise refuse(
            _INVALID,
            f"[{kind.name}] is not a valid instance type for requested amiType {ami}: it is {kind.arch}",
        )
    if image.system == "al2" and int(minor.split(".")[1]) > _LAST_AL2:
        raise refuse(_INVALID, f"Requested amiType {ami} is not supported for kubernetes version {minor}")
    if image.nvidia and not kind.gpus:
        raise refuse(_INVALID, f"{ami} requires GPU instance types; [{kind.name}] has none")


def _refuse_template(group: Properties, template: Properties, kind: Ec2InstanceType) -> None:
    if template.get("instanceType") and group.get("instanceTypes"):
        raise refuse(
            "InvalidRequestException",
            "You can specify an instance type either in the launch template or in the request, not in both",
        )
    if group.get("diskSize"):
        raise refuse(
            "InvalidRequestException", "Disk size must be specified within the launch template, not beside it"
        )
    cards = cast("list[Properties]", template.get("networkInterfaces") or [])
    if any(card.get("subnetId") for card in cards):
        raise refuse(
            "InvalidRequestException", "Launch template must not contain a subnet; node groups have their own"
        )
    if cards and template.get("vpcSecurityGroupIds"):
        raise refuse(
            "InvalidParameterCombination",
            "Network interfaces and an instance-level security groups may not be specified together",
        )
    beyond = [card for card in cards if int(card.get("networkCardIndex") or 0) >= kind.cards]
    if beyond:
        raise refuse(
            "InvalidParameterValue",
            f"{kind.name} has {kind.cards} network cards, there is no card {beyond[0]['networkCardIndex']}",
        )
    if at(template, "instanceMarketOptions.marketType") == "spot":
        raise refuse(
            "InvalidRequestException",
            "Launch template must not ask for spot machines; set capacityType SPOT of the node group",
        )


def _refuse_block(account: EksAccount, record: Record, template: Properties | None) -> None:
    market = at(template, "instanceMarketOptions.marketType")
    path = "capacityReservationSpecification.capacityReservationTarget.capacityReservationId"
    if market != "capacity-block" or not at(template, path):
        raise refuse(
            "InvalidRequestException",
            "Capacity type CAPACITY_BLOCK needs a launch template with market type capacity-block and a "
            "target capacity reservation",
        )
    zones = zones_of(account, record["inputs"], record["region"])
    if len(zones) > 1:
        raise refuse(
            "InvalidRequestException",
            "Subnets must be in the Availability Zone of the Capacity Block; these are in "
            f"{', '.join(zones)}",
        )


def _refuse_quota(account: EksAccount, record: Record, kind: Ec2InstanceType, more: int, *, had: int) -> None:
    spot = record["inputs"].get("capacityType") == "SPOT"
    name = bucket(kind.name, spot=spot)
    quota = account.limits.quotas.get(name)
    # Machines of a Capacity Block are paid for already and count against no quota.
    if quota is None or record["inputs"].get("capacityType") == "CAPACITY_BLOCK":
        return
    used = vcpus_in_use(account, name, but=record["id"])
    if used + (had + more) * kind.cpus > quota:
        raise refuse(
            "NodeCreationFailure",
            "AsgInstanceLaunchFailures: VcpuLimitExceeded - You have requested more vCPU capacity than your "
            f"current vCPU limit of {quota} allows for the instance bucket {name} that {kind.name} belongs "
            f"to ({(had + more) * kind.cpus} beside {used} in use). Ask for more quota, or fewer machines",
        )


def vcpus_in_use(account: EksAccount, name: str, *, but: str = "") -> int:
    """Return the vCPUs of a quota that node groups, except one, and instances use."""
    used = 0
    for other in account.all(NODE_GROUP):
        its = type_of(account, other["inputs"])
        its_spot = other["inputs"].get("capacityType") == "SPOT"
        if other["id"] != but and bucket(its.name, spot=its_spot) == name:
            used += its.cpus * size_of(other["inputs"])
    for one in account.all(INSTANCE):
        kind = find_type(str(one["inputs"]["type"]))
        if kind is not None and bucket(kind.name, spot=one["inputs"]["spot"]) == name:
            used += kind.cpus
    return used
