from typing import Any

import pytest

from tests.clouds.aks.aks_fleets import cluster, vgpu
from tests.clouds.gke.gke_fleets import l4
from tests.clouds.gke.gke_fleets import pool as gke_pool
from tests.fleet.plan.plan_helpers import planned, refused

FORGETS = (
    "has the GPU Operator forget that its device plugin shall leave this pool to DRA: it takes nodes for "
    "ones with devices before it has found any, and both give them out"
)
FOUND = "is written by the GPU Operator's discovery, which puts what it finds in its place"


def labelled(advertise: str, key: str, value: str, *, operated: bool = True) -> dict[str, Any]:
    fleet = vgpu()
    shared = {"machine": "Standard_NC24ads_A100_v4", "nodes": {"min": 1, "max": 1}}
    cluster(fleet)["pools"] = {
        name: {**shared, "advertise": name, "labels": {key: value} if name == advertise else {}}
        for name in ("dra", "device-plugin")
    }
    if operated:
        cluster(fleet)["gpuOperator"] = {"version": "v25.10.0"}
    return fleet


@pytest.mark.parametrize(
    ("advertise", "key", "value", "what"),
    [
        ("dra", "nvidia.com/gpu.present", "true", FORGETS),
        ("dra", "nvidia.com/gpu.product", "NVIDIA-A100", FOUND),
        ("device-plugin", "nvidia.com/mig.config.state", "success", FOUND),
        ("device-plugin", "feature.node.kubernetes.io/pci-1d0f.present", "true", FOUND),
    ],
)
def test_labels_that_mislead_the_operator_or_that_it_writes_are_refused(
    advertise: str, key: str, value: str, what: str
) -> None:
    assert refused(labelled(advertise, key, value)) == {
        f"clusters.studio.pools.{advertise}.labels.{key}": f"{what}\n"
        f"  got: {value}\n  fix: remove {key} from labels"
    }


NO_DRIVER = "no one installs their GPU driver, and no device is published"
NO_PARTITIONS = "no one makes their MIG partitions"
NO_PLUGIN = "no one gives their GPUs out"


def needing(advertise: str, label: str) -> dict[str, Any]:
    """Both pools have their GPU driver from the operator, the one of DRA its partitions too."""
    operand, _, value = label.partition(": ")
    fleet = labelled(advertise, f"nvidia.com/gpu.deploy.{operand}", value)
    pools = cluster(fleet)["pools"]
    pools["dra"]["sharing"] = {"strategy": "mig", "layout": {"1g.10gb": 7}}
    for pool in pools.values():
        pool["gpuDriver"] = "operator"
    return fleet


@pytest.mark.parametrize(
    ("advertise", "label", "output"),
    [
        ("dra", "operands: false", f"{NO_DRIVER}; {NO_PARTITIONS}"),
        ("dra", "driver: false", NO_DRIVER),
        ("dra", "driver: no", NO_DRIVER),
        ("dra", "mig-manager: false", NO_PARTITIONS),
        ("device-plugin", "operands: false", f"{NO_DRIVER}; {NO_PLUGIN}"),
        ("device-plugin", "device-plugin: false", NO_PLUGIN),
    ],
)
def test_labels_that_keep_off_a_pool_what_it_needs_of_the_operator_are_refused(
    advertise: str, label: str, output: str
) -> None:
    assert refused(needing(advertise, label)) == {
        "clusters.studio.gpuOperator": f"is kept off pool {advertise} by a label of its nodes: {output}\n"
        f"  got: nvidia.com/gpu.deploy.{label}\n"
        f"  fix: remove nvidia.com/gpu.deploy.{label.partition(': ')[0]} from the labels of pool {advertise}"
    }


@pytest.mark.parametrize(
    ("advertise", "label"),
    [("dra", "operands: no"), ("dra", "dcgm-exporter: false"), ("device-plugin", "mig-manager: false")],
)
def test_a_pool_does_without_other_pods_of_the_operator(advertise: str, label: str) -> None:
    assert len(planned(needing(advertise, label)).clusters[0].pools) == 2


def test_a_pool_whose_image_includes_the_driver_needs_none_of_the_operator_s_pods() -> None:
    fleet = labelled("dra", "nvidia.com/gpu.deploy.operands", "false")
    pools = cluster(fleet)["pools"]
    pools.pop("device-plugin")
    assert planned(fleet).clusters[0].pools[0].gpu_driver == "host"


@pytest.mark.parametrize("key", ["nvidia.com/gpu.product", "example.com/team"])
def test_without_an_operator_no_one_else_writes_them(key: str) -> None:
    fleet = labelled("dra", key, "a100", operated=False)
    cluster(fleet)["pools"].pop("device-plugin")
    [pool] = planned(fleet).clusters[0].pools
    assert pool.labels[key] == "a100"


def test_a_label_that_has_the_driver_come_to_machines_without_its_devices_is_refused() -> None:
    fleet = vgpu()
    cluster(fleet)["pools"]["web"] = {
        "machine": "Standard_ND96isr_MI300X_v5",
        "nodes": {"min": 1, "max": 1},
        "labels": {"nvidia.com/gpu.present": "true"},
    }
    assert refused(fleet) == {
        "clusters.studio.pools.web.labels.nvidia.com/gpu.present": "has driver nvidia come to nodes without "
        "devices for it: Standard_ND96isr_MI300X_v5 has none\n  got: true\n"
        "  fix: remove nvidia.com/gpu.present from labels"
    }


@pytest.mark.parametrize(
    ("key", "setting"),
    [
        ("cloud.google.com/gke-networking-dra-driver", "dranet: true"),
        ("cloud.google.com/gke-queued", "queued: true"),
    ],
)
def test_a_label_that_a_setting_of_the_pool_sets_is_refused_with_the_setting(key: str, setting: str) -> None:
    fleet = l4()
    gke_pool(fleet)["labels"] = {key: "true"}
    assert refused(fleet) == {
        f"clusters.render.pools.gpu.labels.{key}": "is a label that this program sets where "
        f"the pool says {setting}\n"
        f"  got: true\n  fix: remove {key} from labels, and set {setting}"
    }
