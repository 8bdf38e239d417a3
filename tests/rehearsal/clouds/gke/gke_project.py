"""A simulated Google Cloud on control planes that only remember what they were asked."""

from typing import Any, ClassVar

from dra_fleet.clouds.gke.simulation.cloud import SimulatedGke
from dra_fleet.rehearsal.clouds.cloud import UpdateDiff
from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.cloud_on_planes import CloudOnPlanes
from tests.rehearsal.clouds.remembering_planes import Entry, Planes

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


class Project(CloudOnPlanes):
    """A simulated Google Cloud."""

    config: ClassVar = {"project": "ml", "region": "us-central1"}

    def __init__(self, store: Store) -> None:
        planes = Planes(are_tokens=lambda text: text.endswith('"system:masters"\n'), takes_objects=True)
        super().__init__(SimulatedGke(store, planes), planes)

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

    def diff(self, kind: str, olds: dict[str, Any], news: dict[str, Any]) -> UpdateDiff:
        return self.cloud.diff(self.resource(kind, "it"), olds, news)

    @property
    def node(self) -> Entry:
        """The last machine that joined."""
        return self.planes.nodes["render"][-1]
