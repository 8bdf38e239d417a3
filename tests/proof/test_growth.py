# ruff: noqa: E501, ISC004 - messages are written as they are reported
"""Actions that an autoscaler must take, and whether it can if a pool has no node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dra_fleet.clouds.eks.karpenter import predicted_devices
from dra_fleet.clouds.gke.plan import gke_devices
from dra_fleet.clouds.gke.settings import GkeClusterSettings
from dra_fleet.proof.prove import prove
from dra_fleet.proof.supply.prediction import predict
from tests.proof.proof_helpers import fleet, plan_of, pool

AMPERE = {
    "cel": [
        "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].architecture == 'Ampere'"
    ]
}
NEEDS_MEMORY = {"driver": "nvidia", "type": "gpu", "memory": {"min": "20Gi"}}
VERSIONED = {
    "cel": [
        "device.driver == 'gpu.nvidia.com' && "
        "device.attributes['gpu.nvidia.com'].cudaComputeCapability.isGreaterThan(semver('7.0.0'))"
    ]
}
A100 = "nvidia-tesla-a100"


def warning(
    cloud: str, requested: dict[str, Any], nodes: tuple[int, int], accelerator: str = A100, **more: Any
) -> str:
    """Return the warning about one workload on a pool of A100 machines in a cloud."""
    settings = fleet(
        {"a100": pool("dgx-a100-40-8", "a100", nodes, **more)},
        classes={"requested": requested},
        claims={"one": {"requests": {"gpu": {"class": "requested"}}}},
        workloads={"train": ("one", 12)},
    )
    plan = plan_of(settings)
    (cluster,) = plan.clusters
    (only,) = cluster.pools
    machine = only.machine.model_copy(update={"accelerator": accelerator})
    on_cloud = cluster.settings
    if cloud == "gke":  # asks its pools whether they have DRANET
        on_cloud = GkeClusterSettings.model_construct(drivers=cluster.settings.drivers, pools={})
    changed = replace(cluster, cloud=cloud, settings=on_cloud, pools=(replace(only, machine=machine),))
    [output] = [
        item for item in prove(replace(plan, clusters=(changed,))).warnings if "workload train" in item
    ]
    return output.partition("more nodes than nodes.min: ")[2]


def test_a_pool_with_a_node_grows_by_the_devices_of_that_node() -> None:
    output = warning("existing", AMPERE, (1, 4))
    assert (
        output
        == "pool a100 must grow above 1 of at most 4 nodes, which its autoscaler can do: the pool always has a node with these devices"
    )


@pytest.mark.parametrize(
    ("cloud", "who", "otherwise"),
    [
        ("existing", "an autoscaler", ""),
        ("aks", "the cluster autoscaler of AKS", ""),
        (
            "eks",
            "the Cluster Autoscaler on EKS",
            ", or set karpenter: true of the pool",
        ),
    ],
)
def test_a_pool_without_a_node_never_grows_by_itself(cloud: str, who: str, otherwise: str) -> None:
    assert warning(cloud, AMPERE, (0, 4)) == (
        f"pool a100 must grow above 0 of at most 4 nodes, but {who} knows the devices of a pool only from a node that exists: "
        f"keep nodes.min at 1, or grow it by hand{otherwise}"
    )


def test_gke_grows_from_zero_for_what_it_predicts() -> None:
    output = warning("gke", AMPERE, (0, 4))
    assert (
        output
        == "pool a100 must grow above 0 of at most 4 nodes, which GKE's autoscaler can do from zero nodes"
    )


def test_gke_never_grows_from_zero_for_a_memory_floor() -> None:
    output = warning("gke", NEEDS_MEMORY, (0, 4))
    assert "the autoscaler never adds the first node" in output
    assert "memory.compareTo(quantity('20Gi')) >= 0" in output
    assert "the largest device has memory 136" in output


def test_gke_never_grows_from_zero_for_an_attribute_that_it_does_not_predict() -> None:
    output = warning("gke", VERSIONED, (0, 4))
    assert "the autoscaler never adds the first node" in output
    assert "cudaComputeCapability" in output


def test_gke_never_grows_from_zero_for_an_accelerator_that_it_does_not_know() -> None:
    output = warning("gke", AMPERE, (0, 4), "nvidia-b200")
    assert (
        "the autoscaler never adds the first node: GKE's autoscaler does not know accelerator nvidia-b200"
        in output
    )


def test_gke_imagines_the_devices_of_the_machine_in_its_own_words() -> None:
    plan = plan_of(fleet({"a100": pool("dgx-a100-40-8", "a100")}))
    only = plan.clusters[0].pools[0]
    machine = only.machine.model_copy(update={"accelerator": A100})
    devices, reason = gke_devices(replace(only, machine=machine))
    assert (len(devices), reason) == (8, "")
    attributes = devices[7].seen["attributes"]
    assert attributes["productName"] == {"string": "A100 40GB"}
    assert attributes["index"] == {"int": 7}
    assert "driverVersion" not in attributes
    assert set(devices[7].origins.values()) == {"documented"}


def on_eks(requested: dict[str, Any], machine: str = "p4d.24xlarge") -> dict[str, Any]:
    """Return a stack with one workload on an empty pool whose nodes Karpenter creates."""
    return {
        "owner": "ml-platform",
        "environment": "development",
        "kubernetes": "1.35",
        "clusters": {
            "train": {
                "cloud": "eks",
                "region": "us-east-1",
                "create": {"network": {"zones": ["us-east-1a", "us-east-1b"]}},
                "access": {"private": True},
                "karpenter": "1.15.1",
                "drivers": {"nvidia": {"version": "0.5.0"}},
                "pools": {"gpu": {"machine": machine, "nodes": {"min": 0, "max": 4}, "karpenter": True}},
            }
        },
        "classes": {"requested": requested},
        "claims": {"one": {"requests": {"gpu": {"class": "requested"}}}},
        "workloads": {"train": {"cluster": "train", "claim": "one", "copies": 2}},
    }


def on_karpenter(requested: dict[str, Any], machine: str = "p4d.24xlarge") -> str:
    """Return the warning about that workload."""
    [output] = [
        item for item in prove(plan_of(on_eks(requested, machine))).warnings if "more nodes than" in item
    ]
    return output.partition("more nodes than nodes.min: ")[2]


@pytest.mark.parametrize("requested", [AMPERE, NEEDS_MEMORY, VERSIONED])
def test_karpenter_grows_from_zero_for_what_it_predicts(requested: dict[str, Any]) -> None:
    assert on_karpenter(requested) == (
        "pool gpu must grow above 0 of at most 4 nodes, which Karpenter can do from zero nodes"
    )


def test_karpenter_predicts_the_attributes_of_its_table_alone() -> None:
    plan = plan_of(on_eks(AMPERE))
    [group] = predict(plan.clusters[0])
    devices, reason = predicted_devices(plan.clusters[0].pools[0], group.shape.devices)
    assert (len(devices), reason) == (8, "")
    assert "driverVersion" not in devices[0].seen["attributes"]
    assert "driverVersion" in devices[0].placed["attributes"]
    assert "uuid" not in devices[0].placed["attributes"]
    assert devices[0].seen["capacity"].keys() == {"memory"}


def test_karpenter_never_grows_from_zero_for_a_machine_that_is_not_in_its_table() -> None:
    output = on_karpenter({"cel": ["device.driver == 'gpu.nvidia.com'"]}, "g7e.2xlarge")
    assert "Karpenter does not know the devices of g7e.2xlarge" in output
