"""Node pools: their machines join and leave the cluster they belong to."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.gke import GPU_DRA
from dra_fleet.clouds.gke.plan import predicted_devices
from dra_fleet.clouds.gke.simulation import clusters
from dra_fleet.clouds.gke.simulation.account import cluster_id, name_faults, refuse, zones_of
from dra_fleet.clouds.gke.simulation.clusters import CLUSTER, POOL
from dra_fleet.clouds.gke.simulation.pool_nodes import (
    accelerator_of,
    bounds_of,
    config_of,
    count_of,
    machines,
    refuse_beyond_limits,
    refuse_invalid,
)
from dra_fleet.rehearsal.clouds.cloud import at
from dra_fleet.rehearsal.clouds.scaling import ScaledPool, numbers_of, scaled

if TYPE_CHECKING:
    from dra_fleet.clouds.gke.simulation.account import GkeAccount
    from dra_fleet.clouds.gke.simulation.clusters import GkeClusters
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput

_FIXED_CONFIG: Final = (
    "spot", "flexStart", "preemptible", "maxRunDuration", "guestAccelerators", "reservationAffinity",
    "oauthScopes", "serviceAccount", "localSsdCount", "ephemeralStorageLocalSsdConfig", "metadata",
)  # fmt: skip

QUEUE_CLASS: Final = "queued-provisioning.gke.io"
"""https://cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest"""


class NodePools:
    """The type `gcp:container/nodePool:NodePool`.

    What replaces: ForceNew of google_container_node_pool in
    https://github.com/hashicorp/terraform-provider-google
    """

    name_key = "name"
    place_key = "location"
    required = ("cluster", "location")
    replacing = frozenset(
        {
            "cluster", "location", "project", "name", "initialNodeCount", "maxPodsPerNode", "placementPolicy",
            "queuedProvisioning", "networkConfig.acceleratorNetworkProfile",
            "networkConfig.additionalNodeNetworkConfigs",
            *(f"nodeConfig.{key}" for key in _FIXED_CONFIG),
        }
    )  # fmt: skip

    def __init__(self, account: GkeAccount, clusters: GkeClusters) -> None:
        self._account = account
        self._clusters = clusters
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def faults(self, inputs: Properties) -> list[WrongInput]:
        return [*name_faults(inputs), *clusters.faults("NodePool", inputs)]

    def identifier(self, project: str, inputs: Properties) -> str:
        cluster = str(inputs["cluster"]).rpartition("/")[2]
        return f"{cluster_id(project, str(inputs['location']), cluster)}/nodePools/{inputs['name']}"

    async def create(self, record: Record) -> None:
        """Check and let the machines join."""
        cluster = self._cluster(record)
        async with self._turns[cluster["id"]]:
            self._check(record["id"], record["inputs"], cluster, had=0)
            record["state"] = {**_outputs(record["inputs"], cluster), "status": "PROVISIONING"}
            self._account.put(record)
            await self._clusters.join(cluster)
            record["state"]["status"] = "RUNNING"
            self._account.put(record)

    async def update(self, record: Record, news: Properties) -> None:
        """Change counts, labels or taints; machines come, go and change."""
        cluster = self._cluster(record)
        async with self._turns[cluster["id"]]:
            had = count_of(record["inputs"], cluster["state"])
            self._check(record["id"], news, cluster, had=had)
            record["inputs"] = news
            record["state"] = {**_outputs(news, cluster), "status": "RUNNING"}
            self._account.put(record)
            await self._clusters.join(cluster)

    async def delete(self, record: Record) -> None:
        """Take the machines out of the cluster."""
        cluster = self._account.find(CLUSTER, record["id"].partition("/nodePools/")[0])
        if cluster is None:
            return
        async with self._turns[cluster["id"]]:
            record["state"]["status"] = "STOPPING"
            self._account.put(record)
            await self._clusters.join(cluster)

    def _cluster(self, record: Record) -> Record:
        identifier = record["id"].partition("/nodePools/")[0]
        found = self._account.find(CLUSTER, identifier)
        if found is None or found["type"] != CLUSTER:
            raise refuse("NOT_FOUND", f"Not found: {identifier}")
        return found

    def scaled_pools(self) -> list[ScaledPool]:
        """Return the pools with `autoscaling`."""
        return [
            _scaled_pool(record, self._cluster(record), bounds)
            for record in self._account.all(POOL)
            if record["state"].get("status") == "RUNNING"
            if (bounds := bounds_of(record["inputs"], self._cluster(record)["state"])) is not None
        ]

    def _check(self, identifier: str, pool: Properties, cluster: Record, *, had: int) -> None:
        state = cluster["state"]
        refuse_invalid(pool, state)
        refuse_beyond_limits(pool, state, self.others(identifier), self._account.limits, had=had)

    def others(self, identifier: str = "") -> list[tuple[Properties, Properties]]:
        """All pools but one of the project, with their clusters."""
        pools = (one for one in self._account.all(POOL) if one["id"] != identifier)
        return [(one["inputs"], self._cluster(one)["state"]) for one in pools]


def _scaled_pool(record: Record, cluster: Record, bounds: tuple[int, int]) -> ScaledPool:
    pool, size = record["inputs"], count_of(record["inputs"], cluster["state"])
    zones, more = zones_of(pool, cluster["state"]), {**pool, "autoscaling": None}
    more["nodeCount"] = size // len(zones) + 1
    found = machines(more, cluster["state"], cluster["id"])
    accelerator = accelerator_of(pool)
    predicted: dict[str, list[Properties]] = {}
    if config_of(pool).get("labels", {}).get(GPU_DRA) == "true" and accelerator:
        for device in predicted_devices(str(accelerator["type"]), int(accelerator["count"])):
            predicted.setdefault(device.driver, []).append(dict(device.seen))
    return ScaledPool(
        cluster=cluster["simulator"],
        name=str(pool["name"]),
        resource=(POOL, record["id"]),
        least=bounds[0],
        most=bounds[1],
        machines=dict(zip(numbers_of(pool, size), found, strict=False)),
        fresh=found[size],
        inputs_with=partial(scaled, pool),
        predicted=predicted,
        queued=QUEUE_CLASS if at(pool, "queuedProvisioning.enabled") else "",
    )


def _outputs(inputs: Properties, cluster: Record) -> Properties:
    return {
        **inputs,
        "version": inputs.get("version") or cluster["state"]["masterVersion"],
        "nodeCount": count_of(inputs, cluster["state"]) // len(zones_of(inputs, cluster["state"])),
        "instanceGroupUrls": [],
        "managedInstanceGroupUrls": [],
        "operation": "",
    }
