"""A simulated Alibaba Cloud on control planes that only remember what they were asked."""

import asyncio
from typing import Any, ClassVar

from dra_fleet.clouds.ack.simulation.cloud import SimulatedAck
from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.cloud_on_planes import CloudOnPlanes
from tests.rehearsal.clouds.remembering_planes import Entry, Planes

CLUSTER = "alicloud:cs/managedKubernetes:ManagedKubernetes"
POOL = "alicloud:cs/nodePool:NodePool"
NETWORK = "alicloud:vpc/network:Network"
VSWITCH = "alicloud:vpc/switch:Switch"
ADDON = "alicloud:cs/kubernetesAddon:KubernetesAddon"
REGION = "ap-southeast-1"
VSWITCHES = ["vsw-a", "vsw-b"]
A10 = "ecs.gn7i-c8g1.2xlarge"
DISABLED = {"key": "ack.node.gpu.schedule", "value": "disabled"}
ADMIN = """
apiVersion: v1
kind: Config
current-context: admin
clusters: [{name: train, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: admin, user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}}]
contexts: [{name: admin, context: {cluster: train, user: admin}}]
"""


class PlanesWithAdmin(Planes):
    """Planes whose administrator has a certificate."""

    def admin_kubeconfig(self, name: str) -> str:
        assert name in self.versions
        return ADMIN


class Region(CloudOnPlanes):
    """A simulated Alibaba Cloud."""

    config: ClassVar = {"region": REGION}

    def __init__(self, store: Store) -> None:
        planes = PlanesWithAdmin(are_tokens=lambda text: text.startswith("k8s-ack-v2."))
        super().__init__(SimulatedAck(store, planes), planes)
        self.limit()

    def limit(self, **limits: Any) -> None:
        vswitches = dict(zip(VSWITCHES, (f"{REGION}a", f"{REGION}b"), strict=True))
        self.cloud.configure({"limits": {"vswitches": vswitches, **limits}})

    def faults(self, kind: str, inputs: dict[str, Any]) -> dict[str, str]:
        return {failure.path: failure.reason for failure in self.check(kind, inputs).failures}

    def cluster(self, **more: Any) -> dict[str, Any]:
        return self.make(CLUSTER, "train", cluster_inputs(**more))

    def pool(self, **more: Any) -> dict[str, Any]:
        cluster = self.cluster_id
        name = str(more.get("nodePoolName", "gpu"))
        return self.make(POOL, name, {"clusterId": cluster, **pool_inputs(**more)})

    def change(self, kind: str, made: dict[str, Any], name: str, inputs: dict[str, Any]) -> dict[str, Any]:
        resource = self.resource(kind, name, made["id"])
        return asyncio.run(self.cloud.update(resource, {}, inputs, preview=False)).state

    def delete(self, kind: str, made: dict[str, Any]) -> None:
        asyncio.run(self.cloud.delete(self.resource(kind, "it", made["id"])))

    def invoke(self, token: str, **arguments: Any) -> dict[str, Any]:
        return asyncio.run(self.cloud.invoke(token, arguments, dict(self.config)))

    @property
    def cluster_id(self) -> str:
        return self.invoke("alicloud:cs/getManagedKubernetesClusters:getManagedKubernetesClusters")["ids"][0]

    @property
    def nodes(self) -> list[Entry]:
        return self.planes.nodes["train"]


def cluster_inputs(**more: Any) -> dict[str, Any]:
    return {
        "name": "train",
        "version": "1.36.2-aliyun.1",
        "clusterSpec": "ack.pro.small",
        "vswitchIds": VSWITCHES,
        "podVswitchIds": VSWITCHES,
        "serviceCidr": "172.16.0.0/16",
        "skipSetCertificateAuthority": True,
        "addons": [{"name": "terway-eniip"}],
        **more,
    }


def pool_inputs(**more: Any) -> dict[str, Any]:
    return {
        "nodePoolName": "gpu",
        "instanceTypes": [A10],
        "vswitchIds": VSWITCHES,
        "imageType": "AliyunLinux3",
        "desiredSize": "1",
        "multiAzPolicy": "BALANCE",
        "forceDelete": True,
        "labels": [DISABLED],
        **more,
    }
