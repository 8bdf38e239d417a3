"""A simulated AWS on control planes that only remember what they were asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from dra_fleet.clouds.eks.simulation.cloud import SimulatedEks
from tests.rehearsal.clouds.cloud_on_planes import CloudOnPlanes
from tests.rehearsal.clouds.remembering_planes import Planes

if TYPE_CHECKING:
    from dra_fleet.rehearsal.simulator.store import Store
    from tests.rehearsal.clouds.remembering_planes import Entry

CLUSTER = "aws:eks/cluster:Cluster"
GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
ROLE = "arn:aws:iam::123456789012:role/given"
SUBNETS = ["subnet-0000000a", "subnet-0000000b"]


class Region(CloudOnPlanes):
    """A simulated AWS."""

    config: ClassVar = {"region": "us-east-1"}

    def __init__(self, store: Store) -> None:
        planes = Planes(are_tokens=lambda text: text.startswith("k8s-aws-v1."))
        super().__init__(SimulatedEks(store, planes), planes)
        self.limit()

    def limit(self, **limits: Any) -> None:
        subnets = dict(zip(SUBNETS, ("us-east-1a", "us-east-1b"), strict=True))
        self.cloud.configure({"limits": {"subnets": subnets, **limits}})

    def faults(self, kind: str, inputs: dict[str, Any]) -> dict[str, str]:
        return {failure.path: failure.reason for failure in self.check(kind, inputs).failures}

    def cluster(self, **more: Any) -> dict[str, Any]:
        return self.make(CLUSTER, "train", cluster_inputs(**more))

    def template(self, **more: Any) -> dict[str, Any]:
        return self.make(TEMPLATE, "gpu", {"instanceType": "p5.48xlarge", **more})

    def group(self, **more: Any) -> dict[str, Any]:
        return self.make(GROUP, "gpu", group_inputs(**more))

    @property
    def nodes(self) -> list[Entry]:
        return self.planes.nodes["train"]


def cluster_inputs(**more: Any) -> dict[str, Any]:
    return {"name": "train", "roleArn": ROLE, "version": "1.35", "vpcConfig": {"subnetIds": SUBNETS}, **more}


def group_inputs(**more: Any) -> dict[str, Any]:
    inputs = {"clusterName": "train", "nodeGroupName": "gpu", "nodeRoleArn": ROLE, "subnetIds": SUBNETS}
    scaling = {"minSize": 1, "desiredSize": 1, "maxSize": 2}
    return {
        **inputs,
        "scalingConfig": scaling,
        "instanceTypes": ["p5.48xlarge"],
        "amiType": "AL2023_x86_64_NVIDIA",
        **more,
    }
