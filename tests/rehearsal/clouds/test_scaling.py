import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from dra_fleet.rehearsal.clouds.scaling import ScaledPool
from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.ack.ack_region import POOL as ACK_POOL
from tests.rehearsal.clouds.ack.ack_region import Region as AckRegion
from tests.rehearsal.clouds.aks.aks_subscription import POOL as AKS_POOL
from tests.rehearsal.clouds.aks.aks_subscription import SYSTEM, Subscription
from tests.rehearsal.clouds.cloud_on_planes import CloudOnPlanes
from tests.rehearsal.clouds.eks.eks_region import GROUP, Region
from tests.rehearsal.clouds.gke.gke_project import POOL as GKE_POOL
from tests.rehearsal.clouds.gke.gke_project import Project

BOUNDS: Final = {"enableAutoScaling": True, "minCount": 1, "maxCount": 3}
OFFERS: Final = {
    "aks": {"quotas": {"standardNCADSA100v4Family": 30}},
    "eks": {"quotas": {"P": 200}},
    "gke": {"quotas": {"nvidia-l4": 1}},
    "ack": {"quotas": {"ecs.gn7i": 8}},
}
"""Limits with which each cloud has one machine of the pool."""


def _aks(store: Store) -> tuple[CloudOnPlanes, str, dict[str, Any]]:
    aks = Subscription(store)
    aks.cluster()
    return aks, AKS_POOL, aks.pool(**BOUNDS)


def _eks(store: Store) -> tuple[CloudOnPlanes, str, dict[str, Any]]:
    eks = Region(store)
    eks.cluster()
    return eks, GROUP, eks.group(scalingConfig={"minSize": 1, "desiredSize": 1, "maxSize": 3})


def _gke(store: Store) -> tuple[CloudOnPlanes, str, dict[str, Any]]:
    gke = Project(store)
    gke.cluster()
    return gke, GKE_POOL, gke.pool(autoscaling={"totalMinNodeCount": 1, "totalMaxNodeCount": 3})


def _ack(store: Store) -> tuple[CloudOnPlanes, str, dict[str, Any]]:
    ack = AckRegion(store)
    ack.cluster()
    scaling = {"enable": True, "minSize": 1, "maxSize": 3}
    return ack, ACK_POOL, ack.pool(scalingConfig=scaling, desiredSize=None)


CLOUDS: Final = {"aks": _aks, "eks": _eks, "gke": _gke, "ack": _ack}


class Scaled:
    """A cloud with one pool of 1 to 3 nodes."""

    def __init__(self, made: tuple[CloudOnPlanes, str, dict[str, Any]]) -> None:
        self.on_planes, self.kind, self.made = made
        self.cloud = self.on_planes.cloud

    @property
    def pool(self) -> ScaledPool:
        [found] = self.cloud.scaled_pools()
        return found

    @property
    def names(self) -> list[str]:
        return [machine.name for machine in self.pool.machines.values()]

    @property
    def joined(self) -> set[str]:
        [nodes] = self.on_planes.planes.nodes.values()
        return {node.name for node in nodes}

    def resize(self, gone: int | None = None) -> None:
        assert asyncio.run(self.cloud.resize(self.pool, gone))

    def read(self) -> tuple[dict[str, Any], dict[str, Any]]:
        resource = self.on_planes.resource(self.kind, "gpu", self.made["id"])
        found = asyncio.run(self.cloud.read(resource))
        assert found is not None
        return found.inputs, found.state

    def update(self, inputs: dict[str, Any]) -> None:
        resource = self.on_planes.resource(self.kind, "gpu", self.made["id"])
        asyncio.run(self.cloud.update(resource, {}, inputs, preview=False))


@pytest.fixture(params=CLOUDS)
def cloud_name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def scaled(tmp_path: Path, cloud_name: str) -> Callable[[], Scaled]:
    return lambda: Scaled(CLOUDS[cloud_name](Store(tmp_path / "simulator.db")))


def test_a_pool_grows_by_the_announced_machine(scaled: Callable[[], Scaled]) -> None:
    cloud = scaled()
    announced = cloud.pool.fresh.name
    assert (cloud.pool.least, cloud.pool.most, len(cloud.names)) == (1, 3, 1)
    cloud.resize()
    assert announced in cloud.joined
    assert cloud.names[1] == announced


def test_the_removed_machine_leaves_and_the_others_keep_their_names(scaled: Callable[[], Scaled]) -> None:
    cloud = scaled()
    cloud.resize()
    cloud.resize()
    first, second, third = cloud.names
    cloud.resize(gone=1)
    assert cloud.names == [first, third]
    assert second not in cloud.joined
    cloud.resize()
    assert second not in cloud.names


def test_an_update_by_the_program_keeps_the_machines_of_the_autoscaler(scaled: Callable[[], Scaled]) -> None:
    cloud = scaled()
    cloud.resize()
    cloud.resize(gone=0)
    [kept] = cloud.names
    inputs, _ = cloud.read()
    cloud.update({**inputs, "tags": {"team": "ml"}} if cloud.kind != GKE_POOL else inputs)
    assert cloud.names == [kept]


def test_a_plugin_reads_nothing_of_the_simulation(scaled: Callable[[], Scaled]) -> None:
    cloud = scaled()
    cloud.resize()
    assert "rehearsal:" not in json.dumps(cloud.read())


def test_a_refused_machine_changes_nothing(scaled: Callable[[], Scaled], cloud_name: str) -> None:
    cloud = scaled()
    more = {"eks": {"subnets": {"subnet-0000000a": "us-east-1a", "subnet-0000000b": "us-east-1b"}}}
    cloud.cloud.configure({"limits": {**OFFERS[cloud_name], **more.get(cloud_name, {})}})
    before = cloud.names
    with pytest.raises(CloudRefusal):
        cloud.resize()
    assert cloud.names == before


def test_a_pool_of_fixed_size_is_not_scaled(tmp_path: Path) -> None:
    aks = Subscription(Store(tmp_path / "simulator.db"))
    aks.cluster()
    aks.pool()
    assert aks.cloud.scaled_pools() == []


def test_the_system_pool_of_an_aks_cluster_scales_with_the_cluster_s_resource(tmp_path: Path) -> None:
    aks = Subscription(Store(tmp_path / "simulator.db"))
    made = aks.cluster(agentPoolProfiles=[{**SYSTEM, **BOUNDS}])
    [pool] = aks.cloud.scaled_pools()
    assert asyncio.run(aks.cloud.resize(pool))
    assert len(aks.planes.nodes["studio"]) == 2
    resource = aks.resource("azure-native:containerservice:ManagedCluster", "studio", made["id"])
    found = asyncio.run(aks.cloud.read(resource))
    assert found is not None
    assert found.inputs["agentPoolProfiles"][0]["count"] == 2


def test_a_raised_minimum_of_gke_waits_until_a_node_is_needed(tmp_path: Path) -> None:
    gke = Scaled(_gke(Store(tmp_path / "simulator.db")))
    gke.resize()
    inputs, _ = gke.read()
    gke.update({**inputs, "autoscaling": {"totalMinNodeCount": 3, "totalMaxNodeCount": 4}})
    assert (gke.pool.least, len(gke.names)) == (3, 2)


def test_gke_predicts_devices_of_an_empty_pool_with_the_label_of_dra(tmp_path: Path) -> None:
    gke = Project(Store(tmp_path / "simulator.db"))
    gke.cluster()
    gke.pool(initialNodeCount=0, autoscaling={"totalMaxNodeCount": 2})
    [pool] = gke.cloud.scaled_pools()
    [device] = pool.predicted["gpu.nvidia.com"]
    assert (pool.least, pool.most, pool.machines) == (0, 2, {})
    assert device["attributes"]["architecture"] == {"string": "Ada Lovelace"}
