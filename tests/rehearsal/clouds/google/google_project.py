"""A simulated Google Cloud on control planes that only remember what they were asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from rehearsal.clouds.cloud import Resource
from rehearsal.clouds.google.cloud import GoogleCloud

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusters.client import Object
    from rehearsal.clouds.cloud import Change, Checked
    from rehearsal.world.hardware import NodeHardware
    from rehearsal.world.store import Store

CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
L4 = {
    "type": "nvidia-l4",
    "count": 1,
    "gpuDriverInstallationConfig": {"gpuDriverVersion": "INSTALLATION_DISABLED"},
}
TRIPLE = {
    "gke-no-default-nvidia-gpu-device-plugin": "true",
    "nvidia.com/gpu.present": "true",
    "cloud.google.com/gke-nvidia-gpu-dra-driver": "true",
}


class Planes:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.nodes: dict[str, list[NodeHardware]] = {}
        self.versions: dict[str, str] = {}
        self.applied: list[Object] = []

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
        assert name in self.versions
        self.applied += objects

    async def stop(self, name: str) -> None:
        del self.versions[name]

    def address(self, name: str) -> tuple[str, bytes]:
        return f"https://127.0.0.1:1/{name}", b"ca"

    def admin_kubeconfig(self, name: str) -> str:
        return f"admin of {name}"


class Project:
    """A simulated Google Cloud with short ways to make things."""

    def __init__(self, store: Store) -> None:
        self.planes = Planes()
        self.cloud = GoogleCloud(store, self.planes)

    def resource(self, kind: str, name: str, identifier: str = "") -> Resource:
        urn = f"urn:pulumi:dev::tiny::{kind}::{name}"
        config = {"project": "ml", "region": "us-central1"}
        return Resource(type=kind, urn=urn, config=config, identifier=identifier)

    def check(self, kind: str, inputs: dict[str, Any]) -> Checked:
        return self.cloud.check(self.resource(kind, "it"), {}, inputs, "1a2b3c4d")

    def make(self, kind: str, name: str, inputs: dict[str, Any]) -> dict[str, Any]:
        checked = self.cloud.check(self.resource(kind, name), {}, inputs, "1a2b3c4d")
        assert not checked.failures
        found = asyncio.run(self.cloud.create(self.resource(kind, name), checked.inputs, preview=False))
        return {"id": found.identifier, **found.state}

    def cluster(self, **more: Any) -> dict[str, Any]:
        inputs = {
            "name": "render",
            "minMasterVersion": "1.35",
            "removeDefaultNodePool": True,
            "initialNodeCount": 1,
            "deletionProtection": False,
            "datapathProvider": "ADVANCED_DATAPATH",
        }
        return self.make(CLUSTER, "render", {**inputs, **more})

    def pool(self, name: str = "gpu", config: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        inputs: dict[str, Any] = {
            "name": name,
            "cluster": "render",
            "nodeLocations": ["us-central1-a"],
            "initialNodeCount": 1,
            "nodeConfig": {
                "machineType": "g2-standard-8",
                "guestAccelerators": [L4],
                "labels": TRIPLE,
                **(config or {}),
            },
        }
        return self.make(POOL, name, {**inputs, **more})

    def diff(self, kind: str, olds: dict[str, Any], news: dict[str, Any]) -> Change:
        return self.cloud.diff(self.resource(kind, "it"), olds, news)

    @property
    def node(self) -> NodeHardware:
        """The last machine that joined."""
        return self.planes.nodes["render"][-1]
