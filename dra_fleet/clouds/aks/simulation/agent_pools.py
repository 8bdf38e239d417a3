"""Agent pools: their machines join and leave the cluster they belong to."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from dra_fleet.clouds.aks.simulation import models
from dra_fleet.clouds.aks.simulation.account import (
    cluster_id,
    full_version,
    minor_of,
    pool_id,
    refuse,
    refuse_incompatible,
)
from dra_fleet.clouds.aks.simulation.managed_clusters import API_VERSION, CLUSTER
from dra_fleet.clouds.aks.simulation.pool_nodes import NODE_IMAGE, count_of, driver_choice
from dra_fleet.clouds.aks.simulation.pool_rules import refuse_beyond_limits, refuse_invalid

if TYPE_CHECKING:
    from dra_fleet.clouds.aks.simulation.account import AksAccount
    from dra_fleet.clouds.aks.simulation.managed_clusters import ManagedClusters
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput


class AgentPools:
    """The type `azure-native:containerservice:AgentPool`."""

    name_key = "agentPoolName"
    required = ("resourceGroupName", "resourceName")
    replacing = frozenset(
        {
            "agentPoolName", "gpuInstanceProfile", "networkProfile.nodePublicIPTags",
            "resourceGroupName", "resourceName", "vmSize",
            # The published plugin tries to update these, and AKS refuses it. Labels and taints it updates:
            # https://learn.microsoft.com/azure/aks/use-node-taints
            "gpuProfile", "osDiskType", "osType", "scaleSetPriority", "availabilityZones",
        }
    )  # fmt: skip

    def __init__(self, account: AksAccount, clusters: ManagedClusters) -> None:
        self._account = account
        self._clusters = clusters
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """What does not fit the SDK's model."""
        path = frozenset({"resourceGroupName", "resourceName", "agentPoolName"})
        return models.faults("AgentPool", inputs, beside=path)

    def identifier(self, subscription: str, inputs: Properties) -> str:
        """The id the inputs lead to."""
        cluster = cluster_id(subscription, str(inputs["resourceGroupName"]), str(inputs["resourceName"]))
        return pool_id(cluster, str(inputs["agentPoolName"]))

    async def create(self, record: Record) -> None:
        """Check and let the machines join."""
        cluster = self._cluster(record)
        async with self._turns[cluster["id"].lower()]:
            inputs = record["inputs"]
            self._check(record, cluster, had=0)
            version = cluster["state"]["currentKubernetesVersion"]
            record["state"] = {**_outputs(inputs, version), "provisioningState": "Creating"}
            self._account.put(record)
            await self._clusters.join(cluster)
            record["state"]["provisioningState"] = "Succeeded"
            self._account.put(record)

    async def update(self, record: Record, news: Properties) -> None:
        """Change the count, labels or taints; machines come, go and change."""
        cluster = self._cluster(record)
        async with self._turns[cluster["id"].lower()]:
            old = record["inputs"]
            if driver_choice(old) != driver_choice(news):
                raise refuse(
                    "PropertyChangeNotAllowed",
                    "Changing property 'properties.gpuProfile.driver' is not allowed; make a new pool",
                )
            self._check({**record, "inputs": news}, cluster, had=count_of(old))
            _refuse_downgrade(record, news)
            record["inputs"] = news
            version = cluster["state"]["currentKubernetesVersion"]
            record["state"] = {**_outputs(news, version), "provisioningState": "Succeeded"}
            self._account.put(record)
            await self._clusters.join(cluster)

    async def delete(self, record: Record) -> None:
        """Take the machines out of the cluster."""
        cluster = self._account.find(CLUSTER, record["id"].rsplit("/", 2)[0])
        if cluster is None:
            return
        async with self._turns[cluster["id"].lower()]:
            record["state"]["provisioningState"] = "Deleting"
            self._account.put(record)
            await self._clusters.join(cluster)

    def _cluster(self, record: Record) -> Record:
        found = self._account.find(CLUSTER, record["id"].rsplit("/", 2)[0])
        if found is None or found["type"] != CLUSTER:
            inputs = record["inputs"]
            raise refuse(
                "ParentResourceNotFound",
                "Failed to perform 'write' on resource of type 'managedClusters/agentPools', because the "
                f"parent resource '{inputs['resourceName']}' could not be found in "
                f"'{inputs['resourceGroupName']}'",
            )
        return found

    def _check(self, record: Record, cluster: Record, *, had: int) -> None:
        inputs = record["inputs"]
        name = str(inputs["agentPoolName"])
        refuse_invalid(name, inputs)
        version = str(cluster["state"]["currentKubernetesVersion"])
        refuse_incompatible(name, full_version(inputs.get("orchestratorVersion") or version, name), version)
        mine = (cluster["id"].lower(), name)
        others = [
            pool for pool in self._clusters.pools_everywhere() if (pool["cluster"], pool["pool"]) != mine
        ]
        region = str(cluster["state"]["location"])
        refuse_beyond_limits(inputs, others, region, self._account.limits, had=had)


def _refuse_downgrade(record: Record, news: Properties) -> None:
    name, current = str(news["agentPoolName"]), str(record["state"]["currentOrchestratorVersion"])
    asked = full_version(news.get("orchestratorVersion") or current, name)
    if minor_of(asked) < minor_of(current):
        raise refuse(
            "InvalidParameter",
            f"Agent pool {name}: downgrading from {current} to {asked} is not allowed; make a new pool",
        )


def _outputs(inputs: Properties, version: str) -> Properties:
    path = ("resourceGroupName", "resourceName", "agentPoolName")
    kept = {key: value for key, value in inputs.items() if key not in path}
    defaults = {"mode": "User", "osType": "Linux", "osSKU": "Ubuntu", "osDiskSizeGB": 128, "maxPods": 110}
    return {
        **defaults,
        "scaleDownMode": "Delete",
        "type": "VirtualMachineScaleSets",
        **kept,
        "azureApiVersion": API_VERSION,
        "count": count_of(inputs),
        "currentOrchestratorVersion": full_version(
            inputs.get("orchestratorVersion") or version, str(inputs["agentPoolName"])
        ),
        "name": inputs["agentPoolName"],
        "nodeImageVersion": NODE_IMAGE,
        "orchestratorVersion": inputs.get("orchestratorVersion") or version,
        "powerState": {"code": "Running"},
    }
