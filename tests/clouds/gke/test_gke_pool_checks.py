from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.drivers.common.values import merged
from dra_fleet.fleet.stack_file import read_fleet
from tests.clouds.gke.gke_fleets import cluster, l4, part, pool, tpu, values, warnings
from tests.fleet.plan.plan_helpers import planned, refused

PROJECT = Path(__file__).resolve().parents[3]
POOL = "clusters.render.pools.gpu"
NVIDIA = "clusters.render.drivers.nvidia"
PLUGIN = "gke-no-default-nvidia-gpu-device-plugin"


def test_an_installer_for_amd64_on_arm64_nodes_is_reported() -> None:
    fleet = l4()
    pool(fleet).update(machine="a4x-highgpu-4g", driverInstaller="cos")
    assert warnings(fleet) == (
        (
            "cluster render: driver installer cos of pool gpu is made for amd64, its nodes are arm64; remove "
            "driverInstaller, so that cos-a4x is used"
        ),
    )


def test_a_workload_that_names_its_tolerations_must_bear_arm64() -> None:
    fleet = l4()
    pool(fleet)["machine"] = "a4x-highgpu-4g"
    fleet["claims"] = {"gpu": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}}
    fleet["workloads"] = {
        "train": {
            "cluster": "render",
            "claim": "gpu",
            "copies": 1,
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        }
    }
    assert warnings(fleet) == (
        (
            "workload train: tolerates no kubernetes.io/arch=arm64, the taint that GKE puts on the nodes "
            "of gpu; add the toleration, or leave tolerations out"
        ),
    )


@pytest.mark.parametrize(
    ("fleet", "driver", "namespace"),
    [(l4, "nvidia", "dra-driver-nvidia-gpu"), (tpu, "tpu", "dra-driver-google-tpu")],
)
def test_critical_pods_are_not_admitted_in_a_driver_s_namespace(
    fleet: Callable[[], dict[str, Any]], driver: str, namespace: str
) -> None:
    broken = fleet()
    values(broken, {"kubeletPlugin": {"priorityClassName": "system-node-critical"}}, driver)
    key = "kubeletPlugin.priorityClassName"
    assert refused(broken) == {
        f"clusters.render.drivers.{driver}.values.{key}": f"is not admitted in namespace {namespace}: GKE "
        "takes critical pods only where a ResourceQuota allows them, and there is none\n"
        "  got: system-node-critical\n  allowed: an empty text, or a priority class of your own\n"
        f"  fix: remove {key} from values"
    }


@pytest.mark.parametrize(
    ("part", "switch"),
    [
        ("controller", {"resources": {"computeDomains": {"enabled": True}}}),
        ("webhook", {"webhook": {"enabled": True}}),
    ],
)
def test_pods_beside_the_plugin_are_not_critical_either(part: str, switch: dict[str, Any]) -> None:
    fleet = l4()
    values(fleet, merged(switch, {part: {"priorityClassName": "system-cluster-critical"}}))
    assert refused(fleet) == {
        f"{NVIDIA}.values.{part}.priorityClassName": "is not admitted in namespace dra-driver-nvidia-gpu"
        ": GKE takes critical pods only where a ResourceQuota allows them, and there is none\n"
        "  got: system-cluster-critical\n  allowed: an empty text, or a priority class of your own\n"
        f"  fix: remove {part}.priorityClassName from values"
    }


@pytest.mark.parametrize(
    ("image", "allowed"),
    [("COS_CONTAINERD", "/home/kubernetes/bin/nvidia"), ("UBUNTU_CONTAINERD", "/opt/nvidia")],
)
def test_the_driver_root_follows_from_the_node_image(image: str, allowed: str) -> None:
    fleet = l4()
    pool(fleet)["image"] = image
    values(fleet, {"nvidiaDriverRoot": "/"})
    assert refused(fleet) == {
        f"{NVIDIA}.values.nvidiaDriverRoot": "is not where the pools' GPU driver is installed\n  got: /\n"
        f"  allowed: {allowed}\n  fix: remove it from values; it follows from the pools' image"
    }


def test_pools_of_two_node_images_need_two_driver_roots() -> None:
    fleet = l4()
    cluster(fleet)["pools"]["other"] = {**pool(fleet), "image": "UBUNTU_CONTAINERD"}
    assert refused(fleet) == {
        NVIDIA: "serves pools whose GPU drivers lie under different roots (gpu: /home/kubernetes/bin/nvidia, "
        "other: /opt/nvidia); one release has one nvidiaDriverRoot\n"
        "  fix: give all pools of the cluster the same gpuDriver, or put them into different clusters"
    }


def test_parts_of_gpus_have_no_installer_on_ubuntu() -> None:
    fleet = part()
    pool(fleet)["image"] = "UBUNTU_CONTAINERD"
    assert refused(fleet) == {
        f"{POOL}.image": "has no driver installer for g4-standard-6\n  got: UBUNTU_CONTAINERD\n"
        "  allowed: COS_CONTAINERD\n"
        "  fix: set image: COS_CONTAINERD, or gpuDriver: external if someone else installs the driver"
    }


def test_an_installer_for_other_nodes_is_refused() -> None:
    fleet = part()
    pool(fleet)["driverInstaller"] = "cos"
    assert refused(fleet) == {
        f"{POOL}.driverInstaller": "is not made for g4-standard-6 with COS_CONTAINERD\n  got: cos\n"
        "  allowed: cos-vgpu\n  fix: remove driverInstaller"
    }


@pytest.mark.parametrize(
    ("change", "path", "text"),
    [
        (
            {"zones": ["europe-west4-a"]},
            "zones[0]",
            (
                "is not in the cluster's region us-central1\n  got: europe-west4-a\n"
                "  allowed: us-central1-a, us-central1-b and so on"
            ),
        ),
        (
            {"zones": []},
            "zones",
            (
                "is required in a regional cluster: few zones of us-central1 have g2-standard-8\n"
                "  allowed: zones of the region that have the machine\n"
                "  fix: add zones: [us-central1-a], as `gcloud compute machine-types list` reports"
            ),
        ),
        (
            {"zones": ["us-central1-a", "us-central1-b"], "nodes": {"min": 3, "max": 3}},
            "nodes",
            (
                "of a fixed number must be a multiple of its 2 zones: every zone gets as many\n  got: 3\n"
                "  fix: change nodes or zones, or let nodes.max be larger than nodes.min"
            ),
        ),
        (
            {"zones": ["us-central1-a", "us-central1-b"], "nodes": {"min": 1, "max": 1}},
            "nodes",
            (
                "of a fixed number must be a multiple of its 2 zones: every zone gets as many\n  got: 1\n"
                "  fix: change nodes or zones, or let nodes.max be larger than nodes.min"
            ),
        ),
        (
            {"zones": ["us-central1-a", "us-central1-b", "us-central1-c"], "nodes": {"min": 1, "max": 2}},
            "nodes.max",
            (
                "is less than the pool begins with: 1 in each of 3 zones\n  got: 2\n  allowed: 3 or more\n"
                "  fix: raise nodes.max, or name fewer zones"
            ),
        ),
        (
            {"labels": {"cloud.google.com/mine": "yes"}},
            "labels.cloud.google.com/mine",
            (
                "has a prefix that belongs to GKE or Kubernetes; Google refuses it\n"
                "  got: cloud.google.com/mine\n  fix: choose a prefix of your own"
            ),
        ),
    ],
)
def test_a_pool_s_place_and_labels_are_checked(change: dict[str, Any], path: str, text: str) -> None:
    fleet = l4()
    pool(fleet).update(change)
    assert refused(fleet) == {f"{POOL}.{path}": text}


def test_the_system_pool_of_a_regional_cluster_is_in_three_zones() -> None:
    fleet = l4()
    cluster(fleet)["systemPool"] = {"nodes": {"min": 1, "max": 1}}
    assert refused(fleet) == {
        "clusters.render.systemPool.nodes": "of a fixed number must be a multiple of its 3 zones: every zone "
        "gets as many\n  got: 1\n"
        "  fix: change nodes or zones, or let nodes.max be larger than nodes.min"
    }


def test_a_version_belongs_to_the_declared_minor() -> None:
    fleet = l4()
    cluster(fleet)["version"] = "1.35.8-gke.1036000"
    assert refused(fleet) == {
        "clusters.render.version": "is not a version of Kubernetes 1.36, which the cluster is declared "
        "to run\n  got: 1.35.8-gke.1036000\n  allowed: 1.36.<patch>-gke.<build>\n"
        "  fix: change version or kubernetes, or remove version"
    }


def test_a_compute_class_names_pools_of_its_cluster() -> None:
    fleet = l4()
    cluster(fleet)["computeClasses"] = {"any": {"priorities": ["gpu", "gpus"]}}
    assert refused(fleet) == {
        "clusters.render.computeClasses.any.priorities[1]": "is not a pool of this cluster\n  got: gpus\n"
        "  allowed: gpu"
    }


def test_a_pool_is_in_one_compute_class() -> None:
    fleet = l4()
    cluster(fleet)["computeClasses"] = {"a": {"priorities": ["gpu"]}, "b": {"priorities": ["gpu"]}}
    assert refused(fleet) == {
        POOL: "is in more than one ComputeClass, and its nodes can carry the label of one only\n  got: a, b\n"
        "  fix: leave gpu out of the priorities of b"
    }


def test_a_part_of_a_node_s_chips_is_refused() -> None:
    fleet = tpu()
    fleet["claims"]["node"]["requests"]["tpu"] = {"class": "tpu.google.com", "count": 2}
    assert refused(fleet) == {
        "claims.node.requests.tpu.count": "is a part of a node's TPU chips on cluster render; the driver "
        "prepares all of a node's chips for one claim, or none\n  got: 2\n  allowed: allocationMode: All\n"
        "  fix: write allocationMode: All instead of count"
    }


def test_as_many_chips_as_every_node_has_may_be_counted() -> None:
    fleet = tpu()
    fleet["claims"]["node"]["requests"]["tpu"] = {"class": "tpu.google.com", "count": 4}
    planned(fleet)


def test_tpus_by_dra_need_a_version_that_can_turn_the_plugin_off() -> None:
    fleet = tpu()
    cluster(fleet).update(kubernetes="1.34", version="1.34.0-gke.1662000")
    assert refused(fleet) == {
        f"{POOL}.machine": "needs GKE 1.34.1-gke.1127000 or later, the cluster runs 1.34.0-gke.1662000\n"
        "  got: ct6e-standard-4t\n  fix: set version: 1.34.1-gke.1127000 or a later one, or remove version"
    }


def test_a_part_of_a_gpu_by_capacity_is_refused_below_1_36() -> None:
    fleet = read_fleet(PROJECT / "examples" / "gke-shared-gpu.yaml")
    planned({**fleet})
    assert refused({**fleet, "kubernetes": "1.35"}) == {
        "claims.part.requests.gpu.capacity": "on cluster shared: Kubernetes 1.35 drops this field "
        "silently: feature gate DRAConsumableCapacity is off there; it is on from 1.36\n"
        "  fix: run the cluster at 1.36 or later, or leave the field out",
        "clusters.shared.drivers.nvidia.values.featureGates.ConsumableShares": "needs the cluster's feature "
        "gate DRAConsumableCapacity, which is off in Kubernetes 1.35\n"
        "  got: true\n  fix: use Kubernetes 1.36 or later",
    }
