"""Node pools: their machines join and leave the cluster they belong to."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from dra_fleet.clouds.ack.simulation.account import INVALID, POOL, made_id, refuse
from dra_fleet.clouds.ack.simulation.fields import faults, fields_of
from dra_fleet.clouds.ack.simulation.pool_nodes import let_join, size_of
from dra_fleet.clouds.ack.simulation.pool_rules import pool_faults, refuse_beyond_limits, refuse_invalid
from dra_fleet.rehearsal.clouds.cloud import at

if TYPE_CHECKING:
    from dra_fleet.clouds.ack.simulation.account import AckAccount
    from dra_fleet.clouds.ack.simulation.clusters import AckClusters
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput


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
        """What does not fit the provider's schema."""
        return [*faults(POOL, inputs), *pool_faults(inputs)]

    def identifier(self, scope: str, inputs: Properties) -> str:
        """A pool's id is its cluster's and its own."""
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
            CloudRefusal: there are some, and nobody said that they go too.
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
