import re
from typing import Any

import pytest
from msgspec.structs import replace

from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of, with_changed
from dra_fleet.drivers.nvidia.simulation.operator.features import gpu_labels, system_labels
from dra_fleet.drivers.nvidia.simulation.operator.labels import Role, extended_resources, plugin_problem
from tests.rehearsal.agent.gpu_operator.operator_objects import host, pod_of, read_policy

DRIVER = {"driverVersion": "580.95.05"}
LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
PCI = "feature.node.kubernetes.io/pci-10de.present"


def gpu(strategy: str = "single", model: str = "A100-SXM4-80GB", **mig: Any) -> dict[str, str]:
    found = gpu_labels(host(model, nvidia={**DRIVER, **mig}), strategy)
    return {key.removeprefix("nvidia.com/"): value for key, value in found.items()}


def advertised(strategy: str, **mig: Any) -> dict[str, str]:
    pod = pod_of(Role.DEVICE_PLUGIN, now=read_policy(mig={"strategy": strategy}))
    return extended_resources(pod, host(nvidia={**DRIVER, **mig}))


def test_a_gpu_is_found_on_the_bus_without_any_driver() -> None:
    assert system_labels(host())[PCI] == "true"
    assert PCI not in system_labels(host(count=0))


def test_nothing_is_known_of_a_gpu_without_a_driver() -> None:
    assert gpu_labels(host(), "single") == {}


def test_whole_gpus_are_described() -> None:
    found = gpu()
    assert (found["gpu.product"], found["gpu.count"]) == ("NVIDIA-A100-SXM4-80GB", "2")
    assert (found["gpu.memory"], found["gpu.family"], found["mig.capable"]) == ("81920", "ampere", "true")
    assert (found["gpu.compute.major"], found["gpu.compute.minor"]) == ("8", "0")


def test_a_gpu_without_mig_says_so() -> None:
    assert gpu(model="L4")["mig.capable"] == "false"


def test_a_vgpu_says_so() -> None:
    assert gpu(model="A10-4Q")["vgpu.present"] == "true"
    assert gpu()["vgpu.present"] == "false"


# https://github.com/NVIDIA/k8s-device-plugin/tree/v0.19.0/internal/lm
def test_the_strategy_none_is_no_label() -> None:
    assert "mig.strategy" not in gpu("none")
    assert gpu("mixed")["mig.strategy"] == "mixed"


def test_versions_are_reported_under_their_old_and_new_names() -> None:
    found = gpu()
    for key in ("cuda.driver.{}", "cuda.driver-version.{}"):
        assert (found[key.format("major")], found[key.format("minor")]) == ("580", "95")
    assert (found["cuda.driver.rev"], found["cuda.driver-version.revision"]) == ("05", "05")
    assert (
        found["cuda.runtime-version.full"] == f"{found['cuda.runtime.major']}.{found['cuda.runtime.minor']}"
    )


def test_a_node_reports_its_mode_its_machine_and_whether_it_shares_by_mps() -> None:
    found = gpu()
    assert (found["gpu.mode"], found["gpu.machine"], found["mps.capable"]) == ("compute", "unknown", "false")


@pytest.mark.parametrize("strategy", ["none", "mixed"])
def test_gpus_with_mig_on_have_no_replicas(strategy: str) -> None:
    assert gpu(strategy)["gpu.replicas"] == "1"
    assert gpu(strategy, mig={"1g.10gb": 7})["gpu.replicas"] == "0"


@pytest.mark.parametrize(("strategy", "resource"), [("single", "gpu"), ("mixed", "mig-3g.40gb")])
def test_partitions_are_described_by_their_attributes(strategy: str, resource: str) -> None:
    found = gpu(strategy, mig={"3g.40gb": 2})
    keys = ("product", "count", "replicas", "multiprocessors", "slices.gi", "slices.ci", "engines.copy")
    assert [found[f"{resource}.{key}"] for key in keys] == (
        ["NVIDIA-A100-SXM4-80GB-MIG-3g.40gb", "4", "1", "42", "3", "3", "3"]
    )


def test_equal_partitions_are_the_product_in_strategy_single() -> None:
    found = gpu(mig={"1g.10gb": 7})
    assert (found["gpu.product"], found["gpu.count"], found["gpu.memory"]) == (
        "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb",
        "14",
        "9728",
    )


@pytest.mark.parametrize("mig", [{"migMode": True}, {"mig": {"1g.10gb": 1, "3g.40gb": 1}}])
def test_partitions_that_single_cannot_name_are_invalid(mig: dict[str, Any]) -> None:
    found = gpu(**mig)
    assert (found["gpu.product"], found["gpu.count"]) == ("NVIDIA-A100-SXM4-80GB-MIG-INVALID", "0")


def test_mixed_counts_each_profile() -> None:
    found = gpu("mixed", mig={"1g.10gb": 2, "3g.40gb": 1})
    assert (found["mig-1g.10gb.count"], found["mig-3g.40gb.count"]) == ("4", "2")
    assert found["gpu.product"] == "NVIDIA-A100-SXM4-80GB"


@pytest.mark.parametrize(
    ("strategy", "mig", "resources"),
    [
        ("none", {}, {"nvidia.com/gpu": "2"}),
        ("single", {}, {"nvidia.com/gpu": "2"}),
        ("single", {"mig": {"1g.10gb": 7}}, {"nvidia.com/gpu": "14"}),
        ("mixed", {"mig": {"1g.10gb+me": 1}}, {"nvidia.com/gpu": "0", "nvidia.com/mig-1g.10gb.me": "2"}),
        ("none", {"mig": {"1g.10gb": 7}}, {"nvidia.com/gpu": "0"}),
    ],
)
def test_the_device_plugin_advertises_by_strategy(
    strategy: str, mig: dict[str, Any], resources: dict[str, str]
) -> None:
    assert advertised(strategy, **mig) == resources


def test_unequal_gpus_stop_the_device_plugin_in_strategy_single_only() -> None:
    half = host(nvidia={**DRIVER, "mig": {"1g.10gb": 7}})
    first, second = parts_of(half).gpus
    half = with_changed(half, gpus=(replace(first, mig=None), second))
    problems = {
        strategy: plugin_problem(
            pod_of(Role.DEVICE_PLUGIN, now=read_policy(mig={"strategy": strategy})), half
        )
        for strategy in ("none", "single", "mixed")
    }
    assert [strategy for strategy, text in problems.items() if text] == ["single"]


@pytest.mark.parametrize("model", sorted(nvidia_facts.gpus()))
def test_every_model_name_can_be_a_label(model: str) -> None:
    wrong = {key: value for key, value in gpu(model=model).items() if not LABEL.fullmatch(value)}
    assert wrong == {}
