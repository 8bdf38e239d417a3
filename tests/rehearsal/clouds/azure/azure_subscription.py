"""A simulated Azure on control planes that only remember what they were asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from rehearsal.clouds.azure.cloud import AzureCloud
from rehearsal.clouds.cloud import Resource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusters.client import Object
    from rehearsal.world.hardware import NodeHardware
    from rehearsal.world.store import Store

GROUP = "azure-native:resources:ResourceGroup"
CLUSTER = "azure-native:containerservice:ManagedCluster"
POOL = "azure-native:containerservice:AgentPool"
MAINTENANCE = "azure-native:containerservice:MaintenanceConfiguration"
USER_CREDENTIALS = "azure-native:containerservice:listManagedClusterUserCredentials"
ADMIN_CREDENTIALS = "azure-native:containerservice:listManagedClusterAdminCredentials"
SYSTEM = {"name": "system", "mode": "System", "count": 1, "vmSize": "Standard_D4ds_v5"}
A100 = "Standard_NC24ads_A100_v4"


class Planes:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.nodes: dict[str, list[NodeHardware]] = {}
        self.versions: dict[str, str] = {}

    def names(self) -> set[str]:
        return set(self.versions)

    async def start(self, name: str, *, version: str, scheduler: tuple[str, ...] | None, tokens: str) -> None:
        del scheduler
        assert tokens.endswith('"system:masters"\n')
        self.versions[name] = version

    async def upgrade(self, name: str, *, version: str, scheduler: tuple[str, ...] | None) -> None:
        del scheduler
        self.versions[name] = version

    async def set_nodes(self, name: str, version: str, nodes: Sequence[NodeHardware]) -> None:
        assert version == self.versions[name]
        self.nodes[name] = list(nodes)

    async def apply(self, name: str, objects: Sequence[Object]) -> None:
        raise AssertionError(f"{objects} go into cluster {name}, where nothing was expected")

    async def stop(self, name: str) -> None:
        del self.versions[name]

    def address(self, name: str) -> tuple[str, bytes]:
        return f"https://127.0.0.1:1/{name}", b"ca"

    def admin_kubeconfig(self, name: str) -> str:
        return f"admin of {name}"


class Subscription:
    """A simulated Azure with short ways to make things."""

    def __init__(self, store: Store) -> None:
        self.planes = Planes()
        self.cloud = AzureCloud(store, self.planes)

    def resource(self, kind: str, name: str, identifier: str = "") -> Resource:
        urn = f"urn:pulumi:dev::tiny::{kind}::{name}"
        return Resource(type=kind, urn=urn, config={"location": "westeurope"}, identifier=identifier)

    def make(self, kind: str, name: str, inputs: dict[str, Any]) -> dict[str, Any]:
        checked = self.cloud.check(self.resource(kind, name), {}, inputs, "1a2b3c4d")
        assert not checked.failures
        found = asyncio.run(self.cloud.create(self.resource(kind, name), checked.inputs, preview=False))
        return {"id": found.identifier, **found.state}

    def cluster(self, **more: Any) -> dict[str, Any]:
        self.make(GROUP, "studio", {"resourceGroupName": "studio"})
        inputs = {
            "resourceGroupName": "studio",
            "resourceName": "studio",
            "dnsPrefix": "studio",
            "kubernetesVersion": "1.36",
            "agentPoolProfiles": [SYSTEM],
        }
        return self.make(CLUSTER, "studio", {**inputs, **more})

    def change(self, kind: str, made: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        there = self.resource(kind, "changed", made["id"])
        found = asyncio.run(self.cloud.update(there, {}, inputs, preview=False))
        return {"id": found.identifier, **found.state}

    def pool(self, **more: Any) -> dict[str, Any]:
        return self.make(POOL, "gpu", pool_inputs(**more))

    def invoke(self, token: str, **more: str) -> dict[str, Any]:
        arguments = {"resourceGroupName": "studio", "resourceName": "studio", **more}
        return asyncio.run(self.cloud.invoke(token, arguments, {}))


def pool_inputs(**more: Any) -> dict[str, Any]:
    inputs = {"resourceGroupName": "studio", "resourceName": "studio", "agentPoolName": "gpu"}
    return {**inputs, "vmSize": A100, "count": 1, **more}
