"""Devices that the example driver publishes by its environment, and configuration that it accepts.

Source: https://github.com/kubernetes-sigs/dra-example-driver/tree/v0.4.0, internal/profiles,
cmd/dra-example-kubeletplugin/state.go and api/example.com/resource.
"""

from typing import Any

import pytest

from dra_fleet.drivers.example.simulation.node_side import ExamplePlugin
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed, StartFailed
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware
from tests.rows import rows

HOST = ClusterHardware.model_validate({"kubernetes": "v1.36.3", "nodes": [{"name": "n1"}]}).hosts()[0]


def plugin(**environment: str) -> ExamplePlugin:
    env = [{"name": name, "value": value} for name, value in environment.items()]
    return ExamplePlugin({"name": "plugin", "image": "dra-example-driver:v0.4.0", "env": env})


def test_partitions_come_before_the_whole_gpu_and_share_its_counters() -> None:
    made = plugin(NUM_DEVICES="1", GPU_PARTITIONS="2")
    first, _, whole = made.devices(HOST)
    assert [item["name"] for item in made.devices(HOST)] == [
        "gpu-0-partition-0",
        "gpu-0-partition-1",
        "gpu-0-full",
    ]
    assert first["consumesCounters"] == [
        {
            "counterSet": "gpu-0-counters",
            "counters": {"memory": {"value": "40Gi"}, "compute": {"value": "50"}},
        }
    ]
    assert whole["attributes"]["full"] == {"bool": True}
    assert made.counters() == [
        {"name": "gpu-0-counters", "counters": {"memory": {"value": "80Gi"}, "compute": {"value": "100"}}}
    ]


def test_a_gpu_of_several_claims_is_taken_in_steps() -> None:
    (gpu,) = plugin(NUM_DEVICES="1", GPU_ALLOW_MULTIPLE_ALLOCATIONS="true").devices(HOST)
    assert gpu["allowMultipleAllocations"] is True
    assert gpu["capacity"]["memory"]["requestPolicy"] == {
        "default": "80Gi",
        "validRange": {"min": "1Gi", "max": "80Gi", "step": "1Gi"},
    }


def test_binding_conditions_are_those_of_the_driver_s_controller() -> None:
    (gpu,) = plugin(NUM_DEVICES="1", BINDING_CONDITIONS="true").devices(HOST)
    assert gpu["bindingConditions"] == ["BindingConditions"]
    assert gpu["bindingFailureConditions"] == ["BindingFailureConditions"]


def test_network_cards_are_published_under_the_profile_s_name() -> None:
    made = plugin(DEVICE_PROFILE="net", NUM_DEVICES="2")
    assert made.driver == "net.example.com"
    first, second = made.devices(HOST)
    assert (first["name"], second["name"]) == ("nic-0", "nic-1")
    assert first["attributes"]["model"] == {"string": "LATEST-NET-MODEL"}
    assert first["capacity"]["vfs"] == {
        "value": "100",
        "requestPolicy": {"default": "1", "validValues": ["1"]},
    }


def test_cpus_are_published_by_numa_node() -> None:
    made = plugin(DEVICE_PROFILE="cpu", CPU_NUMA_NODES="2", CPUS_PER_NUMA_NODE="16")
    first, _ = made.devices(HOST)
    assert first == {
        "name": "numa-0",
        "attributes": {"numaNodeID": {"int": 0}},
        "capacity": {"cpu.example.com/cpu": {"value": "16"}},
        "allowMultipleAllocations": True,
        "nodeAllocatableResourceMappings": {"cpu": {"capacityKey": "cpu.example.com/cpu"}},
    }


@rows(__file__, "test_the_driver_does_not_start_with_what_it_cannot_read", "environment message")
def test_the_driver_does_not_start_with_what_it_cannot_read(
    environment: dict[str, str], message: str
) -> None:
    with pytest.raises(StartFailed) as refused:
        plugin(**environment).devices(HOST)
    assert str(refused.value) == message


UNDECODED = "error getting opaque device configs: error decoding config parameters: "
INVALID = "error applying config: error validating "


def gpu_config(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "gpu.resource.example.com/v1alpha1", "kind": "GpuConfig", **fields}


def net_config(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "net.resource.example.com/v1alpha1", "kind": "NetConfig", **fields}


def prepare(*parameters: dict[str, Any], profile: str = "gpu", requests: tuple[str, ...] = ()) -> None:
    made = plugin(DEVICE_PROFILE=profile, NUM_DEVICES="1", CPU_NUMA_NODES="1")
    (device,) = made.devices(HOST)
    config = [
        {
            "source": "FromClaim",
            "requests": list(requests),
            "opaque": {"driver": made.driver, "parameters": one},
        }
        for one in parameters
    ]
    results = [{"request": "one", "driver": made.driver, "device": device["name"]}]
    claim = {
        "metadata": {"name": "c", "namespace": "n", "uid": "u"},
        "status": {"allocation": {"devices": {"results": results, "config": config}}},
    }
    made.prepare(claim, {device["name"]: device})


@pytest.mark.parametrize(
    ("parameters", "profile"),
    [
        (gpu_config(), "gpu"),
        (gpu_config(sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}}), "gpu"),
        (gpu_config(sharing={"strategy": "SpacePartitioning"}), "gpu"),
        (net_config(bwBurst={"ingressBurst": 1000}), "net"),
    ],
)
def test_configuration_of_the_driver_s_own_kind_is_taken(parameters: dict[str, Any], profile: str) -> None:
    prepare(parameters, profile=profile)


def test_of_two_configurations_the_last_is_applied() -> None:
    wrong = gpu_config(sharing={"strategy": "Turns"})
    prepare(wrong, gpu_config())
    with pytest.raises(PrepareFailed, match="unknown GPU sharing strategy: Turns"):
        prepare(gpu_config(), wrong)


def test_configuration_of_another_request_is_skipped() -> None:
    prepare(gpu_config(sharing={"strategy": "Turns"}), requests=("other",))


@pytest.mark.parametrize(
    ("parameters", "profile", "message"),
    [
        (
            {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"},
            "gpu",
            (
                f'{UNDECODED}no kind "GpuConfig" is registered for '
                'version "resource.nvidia.com/v1beta1" in scheme "pkg/runtime/scheme.go:111"'
            ),
        ),
        (gpu_config(shares=4), "gpu", (f'{UNDECODED}strict decoding error: unknown field "shares"')),
        (
            gpu_config(sharing="TimeSlicing"),
            "gpu",
            (
                f"{UNDECODED}json: cannot unmarshal string "
                "into Go struct field GpuConfig.sharing of type v1alpha1.GpuSharing"
            ),
        ),
        (
            gpu_config(sharing={}),
            "gpu",
            "error applying config: error validating GPU config: unknown GPU sharing strategy: ",
        ),
        (
            gpu_config(sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Ages"}}),
            "gpu",
            "error applying config: error validating GPU config: unknown time-slice interval: Ages",
        ),
        (
            gpu_config(
                sharing={"strategy": "SpacePartitioning", "spacePartitioningConfig": {"partitionCount": -1}}
            ),
            "gpu",
            "error applying config: error validating GPU config: invalid partition count: -1",
        ),
        (
            gpu_config(sharing={"strategy": "TimeSlicing", "spacePartitioningConfig": {}}),
            "gpu",
            (
                "error applying config: unable to get time slicing config for device gpu-0: cannot use "
                "SpacePartitioningConfig with the 'TimeSlicing' strategy"
            ),
        ),
        (
            net_config(bwBurst={"egressBurst": 8 * 2**32}),
            "net",
            (f"{INVALID}Net config: invalid egressBurst: burst cannot be more than 4GB"),
        ),
        (
            gpu_config(),
            "cpu",
            (
                f'{UNDECODED}no kind "GpuConfig" is registered for '
                'version "gpu.resource.example.com/v1alpha1" in scheme "pkg/runtime/scheme.go:111"'
            ),
        ),
    ],
)
def test_configuration_that_the_driver_does_not_take_is_refused_with_the_same_message(
    parameters: dict[str, Any], profile: str, message: str
) -> None:
    with pytest.raises(PrepareFailed) as refused:
        prepare(parameters, profile=profile)
    assert str(refused.value) == f"error preparing devices for claim u: prepare failed: {message}"
