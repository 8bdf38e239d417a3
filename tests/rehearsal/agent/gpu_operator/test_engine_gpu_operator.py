import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.clusters.client import Object
from dra_fleet.rehearsal.tools import Toolset
from tests.charts import NVIDIA, chart_folder
from tests.engine_support import RehearsalWorld
from tests.rehearsal.agent.agent_cluster import claiming_pod, machine, template
from tests.rehearsal.agent.gpu_operator.operated import STATE, Operated, runs, without_leave

pytestmark = pytest.mark.engine

A100 = {"model": "A100-SXM4-80GB", "count": 1}
H100 = {"model": "H100-SXM5-80GB", "count": 1}
CONFIG = "nvidia.com/mig.config"
DEPLOY = "nvidia.com/gpu.deploy."
TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}
HOST_DRIVER = {"driverVersion": "580.95.05"}
REBOOT = [{"name": "WITH_REBOOT", "value": "true"}]
AFTER_PARTITIONING = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": STATE, "operator": "In", "values": ["success"]}]}
            ]
        }
    }
}
PRESENT = {"nvidia.com/gpu.present": "true"}
NODES = [
    machine("system"),
    machine("ampere", {**PRESENT, CONFIG: "all-1g.10gb"}, gpus=A100),
    machine("hopper", {**PRESENT, CONFIG: "all-3g.40gb"}, gpus=H100),
    machine("unknown", {**PRESENT, CONFIG: "all-9g.99gb"}, gpus=A100),
    machine("unasked", gpus=A100),
    machine("tainted", {**PRESENT, CONFIG: "all-1g.10gb"}, gpus=A100, taints=[TAINT]),
    machine("driven", gpus={"model": "L4", "count": 1}, nvidia=HOST_DRIVER),
]
HOSTED = [
    machine("system"),
    machine("ampere", PRESENT, gpus=A100, nvidia=HOST_DRIVER),
    machine("hopper", {**PRESENT, CONFIG: "all-1g.10gb"}, gpus=H100, nvidia=HOST_DRIVER),
]
PARTITIONS_ONLY: dict[str, Any] = {
    "driver": {"enabled": False},
    "toolkit": {"enabled": False},
    "operator": {"runtimeClass": "nvidia-container-runtime"},
    "devicePlugin": {"enabled": False},
}


def _for_each_node(maps: list[Object]) -> bool:
    return {"ampere-0-mig-config", "hopper-0-mig-config"} <= {item["metadata"]["name"] for item in maps}


def made(simulator: RehearsalWorld, tools: Toolset, nodes: list[dict[str, Any]]) -> Operated:
    hardware = {"kubernetes": "v1.36.3", "sliceWipingSeconds": 2, "nodes": nodes}
    return Operated(cluster=simulator.new_cluster(hardware), helm_binary=tools.helm)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("values")


@pytest.fixture(scope="module")
def operated(rehearsal_simulator: RehearsalWorld, tools: Toolset, files: Path) -> Iterator[Operated]:
    """The operator installs the driver; the DRA driver's plugin waits for the partitions."""
    cluster = made(rehearsal_simulator, tools, NODES)
    manager = {"env": REBOOT}
    cluster.operator(files, "v25.10.0", {"devicePlugin": {"enabled": False}, "migManager": manager})
    values = files / "driver.json"
    plugin = {"affinity": AFTER_PARTITIONING}
    values.write_text(json.dumps({"nvidiaDriverRoot": "/run/nvidia/driver", "kubeletPlugin": plugin}))
    cluster.helm(
        *("install", "nvidia", str(chart_folder(*NVIDIA)), "--namespace", "dra"),
        *("--create-namespace", "--values", str(values), "--set", "gpuResourcesEnabledOverride=true"),
        *("--set", "resources.computeDomains.enabled=false"),
    )
    yield cluster
    rehearsal_simulator.remove(cluster.cluster)


@pytest.fixture(scope="module")
def hosted(rehearsal_simulator: RehearsalWorld, tools: Toolset, files: Path) -> Iterator[Operated]:
    """Machines with a driver; the later operator only makes partitions, and may not reboot."""
    cluster = made(rehearsal_simulator, tools, HOSTED)
    cluster.operator(files, "v26.7.0", PARTITIONS_ONLY)
    yield cluster
    rehearsal_simulator.remove(cluster.cluster)


def test_ampere_is_rebooted_once_and_publishes_partitions(operated: Operated) -> None:
    operated.wait_for_state("ampere-0", "success")
    found = operated.until_devices("ampere-0", lambda names: len(names) == 7)
    assert all(name.startswith("gpu-0-mig-1g10gb") for name in found)
    assert operated.boots("ampere-0") == 1


def test_hopper_needs_no_reboot(operated: Operated) -> None:
    operated.set_label("hopper-0", CONFIG, "all-3g.40gb")
    operated.until_devices("hopper-0", lambda names: len(names) == 2)
    assert operated.boots("hopper-0") == 0


def test_labels_report_what_the_operands_found(operated: Operated) -> None:
    product = "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"
    labels = operated.until_labels("ampere-0", lambda found: found.get("nvidia.com/gpu.product") == product)
    assert (labels["nvidia.com/gpu.count"], labels["nvidia.com/mig.capable"]) == ("7", "true")
    assert "feature.node.kubernetes.io/pci-10de.present" not in operated.labels("system-0")


def test_an_unknown_configuration_fails_and_publishes_nothing(operated: Operated) -> None:
    operated.wait_for_state("unknown-0", "failed")
    assert operated.devices("unknown-0") == []
    operated.until_said(
        "MigConfig", "selected mig-config not present: all-9g.99gb; the file has: all-1g.10gb"
    )
    operated.set_label("unknown-0", CONFIG, "all-7g.80gb")
    operated.wait_for_state("unknown-0", "success")


def test_a_node_that_asks_for_nothing_gets_no_partitions(operated: Operated) -> None:
    operated.wait_for_state("unasked-0", "success")
    labels = operated.labels("unasked-0")
    assert (labels[CONFIG], labels["nvidia.com/gpu.present"]) == ("all-disabled", "true")
    operated.until_devices("unasked-0", lambda names: names == ["gpu-0"])
    assert operated.boots("unasked-0") == 0


def test_without_a_toleration_no_operand_reaches_the_node_and_its_label_is_removed(
    operated: Operated,
) -> None:
    operated.wait_for_state("ampere-0", "success")
    operated.until_labels("tainted-0", lambda labels: labels["nvidia.com/gpu.present"] == "false")
    assert operated.operands("tainted-0") == set()
    assert STATE not in operated.labels("tainted-0")


def test_a_driver_of_the_host_is_left_in_place(operated: Operated) -> None:
    deploy = f"{DEPLOY}driver"
    operated.until_labels("driven-0", lambda labels: labels.get(deploy) == "pre-installed")
    operated.until_operands("driven-0", lambda apps: "nvidia-driver-daemonset" not in apps)
    operated.until_labels("driven-0", lambda labels: labels.get("nvidia.com/mig.capable") == "false")


def test_a_pod_that_holds_a_device_keeps_a_change_pending(operated: Operated) -> None:
    operated.set_label("hopper-0", CONFIG, "all-3g.40gb")
    operated.until_devices("hopper-0", lambda names: len(names) == 2)
    namespace = operated.namespace()
    pod = claiming_pod(namespace, "holder", "hopper")
    operated.create(template(namespace, deviceClassName="mig.nvidia.com"), pod)
    operated.until_pod(namespace, "holder", runs)
    operated.set_label("hopper-0", CONFIG, "all-1g.10gb")
    operated.wait_for_state("hopper-0", "pending")
    operated.until_said("MigConfig", "In use by another client: holder")
    assert operated.labels("hopper-0")[STATE] == "pending"
    # The manager's state made the DRA plugin leave, and without it no pod can end: the label lets it back.
    operated.set_label("hopper-0", CONFIG, "all-3g.40gb")
    operated.wait_for_state("hopper-0", "success")
    operated.run(lambda api: api.delete("v1", "Pod", "holder", namespace))
    operated.until_pod(namespace, "holder", lambda pod: pod is None)
    operated.set_label("hopper-0", CONFIG, "all-1g.10gb")
    operated.until_devices("hopper-0", lambda names: len(names) == 7)


def test_without_leave_to_reboot_ampere_fails_until_the_policy_gives_it(
    hosted: Operated, files: Path
) -> None:
    hosted.operator(files, "v26.7.0", PARTITIONS_ONLY)
    hosted.until("a MIG manager without leave", ("v1", "Pod"), without_leave, "gpu-operator")
    hosted.set_label("ampere-0", CONFIG, "all-1g.10gb")
    hosted.wait_for_state("ampere-0", "failed")
    hosted.until_said("MigConfig", "the MIG mode change needs a GPU reset")
    hosted.wait_for_state("hopper-0", "success")
    hosted.operator(files, "v26.7.0", {**PARTITIONS_ONLY, "migManager": {"env": REBOOT}})
    hosted.wait_for_state("ampere-0", "success")
    assert hosted.boots("ampere-0") == 1
    assert "nvidia-driver-daemonset" not in hosted.operands("ampere-0")


def test_later_operators_write_the_configurations_of_each_node(hosted: Operated) -> None:
    hosted.wait_for_state("hopper-0", "success")
    hosted.until("a configuration for each node", ("v1", "ConfigMap"), _for_each_node, "gpu-operator")
    assert hosted.labels("hopper-0")[f"{DEPLOY}client"] == "true"


def test_the_device_plugin_advertises_partitions_and_takes_them_back(hosted: Operated, files: Path) -> None:
    def advertises(amount: str) -> Callable[[Object], bool]:
        return lambda node: node["status"]["capacity"].get("nvidia.com/gpu") == amount

    hosted.wait_for_state("hopper-0", "success")
    base = {**PARTITIONS_ONLY, "migManager": {"env": REBOOT}}
    hosted.operator(files, "v26.7.0", {**base, "devicePlugin": {"enabled": True}})
    hosted.until_node("hopper-0", advertises("7"))
    hosted.operator(files, "v26.7.0", base)
    hosted.until_node("hopper-0", advertises("0"))


def test_an_operator_without_rights_says_so_and_makes_nothing(hosted: Operated) -> None:
    binding, rbac = "ClusterRoleBinding", "rbac.authorization.k8s.io/v1"
    kept = hosted.run(lambda api: api.get(rbac, binding, "gpu-operator"))
    hosted.run(lambda api: api.delete(rbac, binding, "gpu-operator"))
    hosted.set_label("system-0", "example.com/nudge", "1")
    hosted.until_said(
        "Forbidden",
        'clusterpolicies.nvidia.com is forbidden: User "system:serviceaccount:gpu-operator:gpu-operator"',
    )
    owned = {key: kept["metadata"][key] for key in ("name", "labels", "annotations")}
    hosted.create({**kept, "metadata": owned})


def test_a_plugin_that_started_before_the_partitions_still_publishes_whole_gpus(
    rehearsal_simulator: RehearsalWorld, tools: Toolset, files: Path
) -> None:
    early = made(rehearsal_simulator, tools, [HOSTED[0], HOSTED[2]])
    early.helm(
        *("install", "nvidia", str(chart_folder(*NVIDIA)), "--namespace", "dra"),
        *("--create-namespace", "--set", "gpuResourcesEnabledOverride=true"),
        *("--set", "resources.computeDomains.enabled=false"),
    )
    early.until_devices("hopper-0", lambda names: names == ["gpu-0"])
    early.operator(files, "v26.7.0", PARTITIONS_ONLY)
    early.wait_for_state("hopper-0", "success")
    assert early.devices("hopper-0") == ["gpu-0"]
    rehearsal_simulator.remove(early.cluster)
