from typing import Any

import pytest

from dra_fleet.clusters.client import Object
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.model.specs import slice_specs
from dra_fleet.rehearsal.agent.driver_pod import is_ready, shows, start, status_of
from dra_fleet.rehearsal.drivers import plugins_of
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware
from dra_fleet.rehearsal.simulator.node import Host
from tests.rows import rows


def host(gpu: str = "A100-SXM4-40GB", **nvidia: Any) -> Host:
    node = {"name": "n1", "gpus": {"model": gpu, "count": 2}, **({"nvidia": nvidia} if nvidia else {})}
    return ClusterHardware.model_validate({"kubernetes": "v1.36.3", "nodes": [node]}).hosts()[0]


def driver(gates: str = "", root: str = "/", *, compute_domains: bool = False) -> Object:
    env: list[dict[str, str]] = [{"name": "FEATURE_GATES", "value": gates}] if gates else []
    image = "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.5.0"
    binaries = ["gpu-kubelet-plugin"] + ["compute-domain-kubelet-plugin"] * compute_domains
    return {
        "metadata": {"name": "driver", "namespace": "d", "uid": "1"},
        "spec": {
            "nodeName": "n1",
            "initContainers": [
                {
                    "name": "init-container",
                    "image": image,
                    "command": ["bash", "/usr/bin/kubelet-plugin-prestart.sh"],
                    "env": [{"name": "NVIDIA_DRIVER_ROOT", "value": root}],
                }
            ],
            "containers": [
                {
                    "name": binary.split("-")[0],
                    "image": image,
                    "command": ["bash", "-c"],
                    "args": [f"mask params\n{binary} -v $(LOG_VERBOSITY)"],
                    "env": env,
                }
                for binary in binaries
            ],
        },
        "status": {},
    }


def test_a_pod_is_a_driver_by_the_binary_it_runs() -> None:
    names = [plugin.driver for plugin in plugins_of(driver(compute_domains=True))]
    assert names == ["gpu.nvidia.com", "compute-domain.nvidia.com"]
    other: Object = {"spec": {"containers": [{"name": "x", "image": "gpu-kubelet-plugin:v1"}]}}
    assert plugins_of(other) == []


def test_a_healthy_host_publishes_its_gpus() -> None:
    outcome = start(driver(), host(driverVersion="580.126.09"))
    assert outcome.problem is None
    ((_, devices),) = outcome.published
    assert [device["name"] for device in devices] == ["gpu-0", "gpu-1"]
    assert is_ready({"metadata": {}, "status": status_of(driver(), outcome)})


@pytest.mark.parametrize(
    ("root", "nvidia", "text"),
    [
        ("/run/nvidia/driver", {"driverVersion": "580.1"}, "Make sure that the GPU Operator is deployed"),
        ("/", {"driverVersion": "580.1", "driverRoot": "/run/nvidia/driver"}, "--set nvidiaDriverRoot=/run"),
        ("/", {}, "currently set to '/'"),
    ],
)
def test_a_driver_root_without_the_driver_keeps_the_init_container_waiting(
    root: str, nvidia: dict[str, str], text: str
) -> None:
    outcome = start(driver(root=root), host(**nvidia))
    assert outcome.waiting is not None
    assert text in outcome.waiting
    status = status_of(driver(), outcome)
    assert status["phase"] == "Pending"
    assert "running" in status["initContainerStatuses"][0]["state"]
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}


@rows(__file__, "test_gates_the_binary_refuses_crash_its_container", "gates message")
def test_gates_the_binary_refuses_crash_its_container(gates: str, message: str) -> None:
    outcome = start(driver(gates), host(driverVersion="580.1"))
    assert outcome.failed == {"gpu": message}
    status = status_of(driver(), outcome)["containerStatuses"][0]
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert status["lastState"]["terminated"]["message"] == message


def test_an_old_driver_crashes_the_compute_domain_plugin_only() -> None:
    outcome = start(driver(compute_domains=True), host(driverVersion="550.90.07"))
    assert list(outcome.failed) == ["compute"]
    assert "requires at least 570.158.01, found 550.90.07" in outcome.failed["compute"]
    assert [plugin.driver for plugin, _ in outcome.published] == ["gpu.nvidia.com"]


def test_an_equal_status_is_recognised_whatever_its_times() -> None:
    outcome = start(driver(), host(driverVersion="580.1"))
    status = status_of(driver(), outcome)
    later = {**status, "startTime": "2030-01-01T00:00:00Z"}
    assert shows({"status": later}, status)
    assert not shows({"status": {}}, status)


@rows(__file__, "test_claims_may_hold_parts_only_where_gate_and_value_say_so", "gates shares capacity")
def test_claims_may_hold_parts_only_where_gate_and_value_say_so(
    gates: str, shares: str, capacity: dict[str, Any]
) -> None:
    pod = driver(gates)
    pod["spec"]["containers"][0]["env"].append({"name": "CONSUMABLE_SHARES", "value": shares})
    ((_, devices),) = start(pod, host(driverVersion="580.126.09")).published
    assert [device["capacity"]["memory"] for device in devices] == [capacity] * 2
    assert [device.get("allowMultipleAllocations", False) for device in devices] == [
        "requestPolicy" in capacity
    ] * 2


@pytest.mark.parametrize(
    ("gates", "shares", "output"),
    [
        ("", "memory", "--consumable-shares requires feature gate ConsumableShares to be enabled"),
        (
            "ConsumableShares=true",
            "banana",
            "invalid value for --consumable-shares: \"banana\" (must be 'disabled', 'memory', 'unlimited',",
        ),
    ],
)
def test_the_plugin_ends_on_shares_that_it_does_not_take(gates: str, shares: str, output: str) -> None:
    pod = driver(gates)
    pod["spec"]["containers"][0]["env"].append({"name": "CONSUMABLE_SHARES", "value": shares})
    assert output in (start(pod, host(driverVersion="580.126.09")).problem or "")


def test_with_dynamic_mig_every_partition_that_could_be_made_is_published_with_its_counters() -> None:
    (published,) = start(driver("DynamicMIG=true,"), host("H100-SXM5-80GB", driverVersion="580.1")).published
    plugin, devices = published
    names = {device["name"] for device in devices}
    assert {"gpu-0", "gpu-0-mig-1g10gb-19-0", "gpu-0-mig-1g10gb-19-6", "gpu-0-mig-7g80gb-0-0"} <= names
    counters, other = plugin.counters()
    assert other["name"] == "gpu-1-counter-set"
    assert counters["name"] == "gpu-0-counter-set"
    assert counters["counters"]["memory-slice-7"] == {"value": "1"}
    consumed = {device["consumesCounters"][0]["counterSet"] for device in devices}
    assert consumed == {"gpu-0-counter-set", "gpu-1-counter-set"}
    sizes = [
        len(spec.get("devices", []))
        for spec in slice_specs("gpu.nvidia.com", "n1", devices * 2, 1, plugin.counters())
    ]
    assert sizes[0] == 0
    assert sizes[1] == 64 == max(sizes)


@pytest.mark.parametrize("model", ["H100-SXM5-80GB", "H200-141GB", "B200-180GB", "RTX-PRO-6000-96GB"])
def test_a_gpu_has_of_every_counter_what_each_of_its_devices_takes(model: str) -> None:
    (published,) = start(driver("DynamicMIG=true,"), host(model, driverVersion="580.1")).published
    plugin, devices = published
    has = {entry["name"]: entry["counters"] for entry in plugin.counters()}
    short = [
        (device["name"], name)
        for device in devices
        for taken in device.get("consumesCounters", [])
        for name, value in taken["counters"].items()
        if Quantity.parse(value["value"]).amount
        > Quantity.parse(has[taken["counterSet"]][name]["value"]).amount
    ]
    assert short == []
    assert {device["capacity"]["memory"]["value"] for device in devices if device["name"] == "gpu-0"} != {"0"}
