"""Managed node groups: their machines join and leave the cluster they belong to."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.eks.simulation.account import arn, full_version, refuse
from dra_fleet.clouds.eks.simulation.group_rules import refuse_beyond_limits, refuse_invalid
from dra_fleet.clouds.eks.simulation.network_types import Model

if TYPE_CHECKING:
    from dra_fleet.clouds.eks.simulation.account import EksAccount
    from dra_fleet.clouds.eks.simulation.clusters import EksClusters
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput

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
        """What does not fit the API's model."""
        return _MODEL.faults(inputs)

    def identifier(self, urn: str, inputs: Properties) -> str:
        """A group's id is its cluster's name and its own."""
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
