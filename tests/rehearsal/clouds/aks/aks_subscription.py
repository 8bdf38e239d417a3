"""A simulated Azure on control planes that only remember what they were asked."""

import asyncio
from typing import Any, ClassVar

from dra_fleet.clouds.aks.simulation.cloud import SimulatedAks
from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.cloud_on_planes import CloudOnPlanes
from tests.rehearsal.clouds.remembering_planes import Planes

GROUP = "azure-native:resources:ResourceGroup"
CLUSTER = "azure-native:containerservice:ManagedCluster"
POOL = "azure-native:containerservice:AgentPool"
MAINTENANCE = "azure-native:containerservice:MaintenanceConfiguration"
USER_CREDENTIALS = "azure-native:containerservice:listManagedClusterUserCredentials"
ADMIN_CREDENTIALS = "azure-native:containerservice:listManagedClusterAdminCredentials"
SYSTEM = {"name": "system", "mode": "System", "count": 1, "vmSize": "Standard_D4ds_v5"}
A100 = "Standard_NC24ads_A100_v4"


class Subscription(CloudOnPlanes):
    """A simulated Azure."""

    config: ClassVar = {"location": "westeurope"}

    def __init__(self, store: Store) -> None:
        planes = Planes(are_tokens=lambda text: text.endswith('"system:masters"\n'))
        super().__init__(SimulatedAks(store, planes), planes)

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
