# ruff: noqa: E501, ISC004 - messages are written as they are reported
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dra_fleet.clouds.eks.karpenter import predicted_devices
from dra_fleet.clouds.gke.plan import gke_devices
from dra_fleet.clouds.gke.settings import GkeClusterSettings
from dra_fleet.kubernetes.cel import ONE_OF, UNKNOWN
from dra_fleet.model.nodes import NodeDevice, NodeShape
from dra_fleet.proof.prove import prove
from dra_fleet.proof.report import RecordingInvalid
from dra_fleet.proof.supply.prediction import predict
from dra_fleet.proof.supply.recorded_pools import read_recordings
from tests.proof.proof_helpers import fleet, gpus, plan_of, pool

MIG = {"strategy": "mig", "layout": {"1g.20gb": 4}}
WHOLE = {"whole": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}}


def shape(pools: dict[str, Any], drivers: dict[str, Any] | None = None) -> NodeShape:
    (group,) = predict(plan_of(fleet(pools, drivers=drivers)).clusters[0])
    return group.shape


def test_host_values_are_unknown_and_product_values_are_documented() -> None:
    device = shape({"h": pool("hgx-h100-8", "h")}).devices[0]
    assert device.seen["attributes"]["uuid"] == {"string": UNKNOWN}
    assert device.seen["attributes"]["driverVersion"] == {"version": UNKNOWN}
    assert device.seen["capacity"]["memory"] == {"value": "81559Mi", "oneOf": ("81559Mi", "81152Mi")}
    assert (device.origins["uuid"], device.origins["memory"]) == ("unknown", "documented")


def test_a_profile_without_a_recorded_memory_has_a_bounded_one() -> None:
    device = shape({"m": pool("dgx-a100-80-8", "m", sharing=MIG)}).devices[0]
    assert device.seen["capacity"]["memory"] == {"value": "20Gi", ONE_OF: ("20Gi", "16Gi", "20992Mi")}
    assert device.origins["memory"] == "unknown"
    assert device.seen["attributes"]["profile"] == {"string": "1g.20gb"}


def test_partitions_of_one_gpu_share_a_replace_its_unknown_uuid() -> None:
    first, second, *_, last = shape({"m": pool("dgx-a100-80-8", "m", sharing=MIG)}).devices
    parents = [device.placed["attributes"]["parentUUID"] for device in (first, second, last)]
    assert parents[0] == parents[1] != parents[2]


def test_the_places_of_gpus_are_unknown_for_a_machine_that_is_only_counted() -> None:
    device = shape({"a": pool(gpus(2), "a")}).devices[0]
    assert device.placed["attributes"]["resource.kubernetes.io/pcieRoot"] == {"string": UNKNOWN}


def test_an_older_driver_does_not_publish_the_numa_node() -> None:
    devices = shape({"h": pool("hgx-h100-8", "h")}, {"nvidia": {"version": "0.4.1"}}).devices
    assert "resource.kubernetes.io/numaNode" not in devices[0].seen["attributes"]


def test_a_gate_that_changes_what_is_published_makes_it_unpredictable() -> None:
    values = {"featureGates": {"PassthroughSupport": True}}
    found = shape({"h": pool("hgx-h100-8", "h")}, {"nvidia": {"version": "0.5.0", "values": values}})
    assert found.devices == ()
    assert "feature gate PassthroughSupport changes" in found.unpredictable["gpu.nvidia.com"]


def test_a_cluster_with_existing_drivers_is_predicted_by_the_newest_chart() -> None:
    found = shape({"h": pool("hgx-h100-8", "h")}, {})
    assert {device.driver for device in found.devices} == {"gpu.nvidia.com"}
    reason = found.unpredictable["compute-domain.nvidia.com"]
    assert "publishes channels of ComputeDomains cannot be predicted" in reason


def recording(tmp_path: Path, devices: int, **changes: Any) -> str:
    node = {
        "kind": "Node",
        "metadata": {"name": "n1", "labels": {"example.com/pool": "l40s"}},
        "status": {"allocatable": {"cpu": "60", "memory": "500Gi", "pods": "110"}},
    }
    published = [
        {
            "name": f"gpu-{index}",
            "attributes": {"type": {"string": "gpu"}, "uuid": {"string": f"GPU-{index}"}},
            "capacity": {"memory": {"value": "46068Mi"}},
        }
        for index in range(devices)
    ]
    spec = {
        "driver": "gpu.nvidia.com",
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": published,
        **changes,
    }
    file = tmp_path / "recorded.json"
    file.write_text(
        json.dumps({"items": [node, {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}]})
    )
    return str(file)


def test_recorded_slices_win_and_make_unknown_values_known(tmp_path: Path) -> None:
    plan = plan_of(
        fleet(
            {"l40s": pool({"gpu": "L20", "gpus": 4, "cpus": 64, "memory": 512}, "l40s", (1, 2))},
            classes={"big": {"driver": "nvidia", "type": "gpu", "memory": {"min": "44Gi"}}},
            claims={"one": {"requests": {"gpu": {"class": "big"}}}},
            workloads={"render": ("one", 6)},
        )
    )
    assert [item.word for item in prove(plan).workloads] == ["unknown"]
    proof = prove(plan, read_recordings(plan, [recording(tmp_path, 3)]))
    assert [item.word for item in proof.workloads] == ["guaranteed"]
    assert proof.workloads[0].pools[0].per_node == 3


def test_a_recording_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    plan = plan_of(fleet({"l40s": pool("pcie-l40s-4", "l40s")}, claims=WHOLE))
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(RecordingInvalid, match="is not valid JSON"):
        read_recordings(plan, [str(broken)])
    with pytest.raises(RecordingInvalid, match="cannot be read: No such file"):
        read_recordings(plan, [str(tmp_path / "absent.json")])
    with pytest.raises(RecordingInvalid, match="names no cluster of the stack"):
        read_recordings(plan, [f"other={broken}"])


def test_prediction_of_a_pool_is_reused_until_what_is_published_can_differ() -> None:
    def devices(labelled: str, version: str = "0.5.0", minor: str = "1.36") -> tuple[NodeDevice, ...]:
        stack = fleet({"h": pool("hgx-h100-8", labelled)}, drivers={"nvidia": {"version": version}})
        (group,) = predict(plan_of({**stack, "kubernetes": minor}).clusters[0])
        return group.shape.devices

    first = devices("h")
    assert devices("other-label") is first
    assert devices("h", version="0.4.1") is not first
    assert devices("h", minor="1.35") is not first


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
