from typing import Any

import pytest

from dra_fleet.drivers.divided_devices import names_partitions
from dra_fleet.drivers.installed import drivers_of
from dra_fleet.fleet.plan import FleetPlan
from dra_fleet.kubernetes.cel import ONE_OF
from dra_fleet.model.nodes import NodeDevice, NodeShape
from dra_fleet.proof.answer.verdicts import WorkloadProof
from dra_fleet.proof.prove import prove
from dra_fleet.proof.supply.prediction import inventory_of, predict, stored
from tests.proof.proof_helpers import fleet, plan_of, pool, proved

ON_DEMAND: dict[str, Any] = {"featureGates": {"DynamicMIG": True}}
CLASSES = {
    "small": {"driver": "nvidia", "type": "mig", "profile": "1g.10gb"},
    "media": {"driver": "nvidia", "type": "mig", "profile": "1g.10gb+me"},
    "half": {"driver": "nvidia", "type": "mig", "profile": "3g.40gb"},
}


def plan(machine: str, values: dict[str, Any], **more: Any) -> FleetPlan:
    drivers = {"nvidia": {"version": "0.5.0", "values": values}}
    return plan_of(fleet({"gpus": pool(machine, "gpus", **more)}, drivers=drivers))


def shape(machine: str, values: dict[str, Any], **more: Any) -> NodeShape:
    (group,) = predict(plan(machine, values, **more).clusters[0])
    return group.shape


def workloads(
    values: dict[str, Any],
    machine: str | dict[str, Any] = "hgx-h100-8",
    nodes: int = 1,
    pod: dict[str, Any] | None = None,
    **requested: tuple[Any, int],
) -> dict[str, WorkloadProof]:
    """Return proofs by name. A workload is a request, a number of copies, and pods that may request more."""
    settings = fleet(
        {"gpus": pool(machine, "gpus", (nodes, nodes))},
        drivers={"nvidia": {"version": "0.5.0", "values": values}},
        classes=CLASSES,
        claims={name: {"requests": {"gpu": request}} for name, (request, _) in requested.items()},
        workloads={
            name: {"claim": name, "copies": copies, **(pod or {})} for name, (_, copies) in requested.items()
        },
    )
    return {item.name: item for item in proved(settings).workloads}


def test_partitions_on_demand_are_published_beside_the_gpu_one_slice_each_and_one_with_all_counters() -> None:
    found = shape("hgx-h100-8", ON_DEMAND)
    slices = [item.spec for item in inventory_of(found).slices]
    assert len(slices) == 9
    assert [entry["name"] for entry in slices[0]["sharedCounters"]][:2] == [
        "gpu-0-counter-set",
        "gpu-1-counter-set",
    ]
    assert "devices" not in slices[0]
    names = [device["name"] for device in slices[1]["devices"]]
    assert names == sorted(names)
    assert names[:2] == ["gpu-0", "gpu-0-mig-1g10gb-19-0"]
    assert all(name.startswith("gpu-0") for name in names)


def test_a_partition_takes_its_memory_slices_and_has_no_uuid_before_it_is_made() -> None:
    part = next(
        device for device in shape("hgx-h100-8", ON_DEMAND).devices if device.name.endswith("mig-1g20gb-15-2")
    )
    [consumed] = part.placed["consumesCounters"]
    assert consumed["counterSet"] == "gpu-0-counter-set"
    assert [name for name in consumed["counters"] if name.startswith("memory-slice")] == [
        "memory-slice-2",
        "memory-slice-3",
    ]
    assert "uuid" not in part.seen["attributes"]
    assert not any(name.startswith("memorySlice") for name in part.seen["capacity"])


def test_the_whole_gpu_has_the_capacities_of_its_largest_partition_as_far_as_they_are_known() -> None:
    whole = shape("hgx-h100-8", ON_DEMAND).devices[0]
    assert whole.seen["capacity"]["memory"] == {"value": "80Gi", ONE_OF: ("80Gi", "64Gi", "82432Mi")}
    assert whole.origins["memory"] == "unknown"


@pytest.mark.parametrize(("copies", "word"), [(56, "guaranteed"), (57, "never")])
def test_seven_small_partitions_fit_on_each_gpu(copies: int, word: str) -> None:
    assert workloads(ON_DEMAND, small=({"class": "small"}, copies))["small"].word == word


@pytest.mark.parametrize(("copies", "word"), [(8, "guaranteed"), (9, "never")])
def test_only_one_partition_of_a_gpu_has_its_media_extensions(copies: int, word: str) -> None:
    assert workloads(ON_DEMAND, media=({"class": "media"}, copies))["media"].word == word


@pytest.mark.parametrize(("copies", "word"), [(16, "guaranteed"), (17, "never")])
def test_two_halves_fit_on_each_gpu(copies: int, word: str) -> None:
    assert workloads(ON_DEMAND, half=({"class": "half"}, copies))["half"].word == word


@pytest.mark.slow
def test_partitions_can_be_in_the_way_of_whole_gpus() -> None:
    whole, small = {"class": "gpu.nvidia.com"}, {"class": "small"}
    found = workloads(ON_DEMAND, nodes=2, whole=(whole, 15), small=(small, 7))
    assert found["whole"].word == "possible"
    assert found["whole"].order[-1] == "whole waits: no node has free devices for it"


def test_on_one_node_partitions_fill_one_gpu_after_the_other() -> None:
    found = workloads(ON_DEMAND, whole=({"class": "gpu.nvidia.com"}, 7), small=({"class": "small"}, 7))
    assert {item.word for item in found.values()} == {"guaranteed"}


def test_an_ampere_gpu_stays_whole_since_it_must_be_reset_to_be_partitioned() -> None:
    devices = shape("dgx-a100-80-8", ON_DEMAND).devices
    assert {device.seen["attributes"].get("type", {}).get("string") for device in devices} == {"gpu"}
    assert not any("consumesCounters" in device.seen for device in devices)


def test_a_layout_and_partitions_on_demand_is_unknown() -> None:
    sharing = {"strategy": "mig", "layout": {"1g.10gb": 7}}
    found = shape("hgx-h100-8", ON_DEMAND, sharing=sharing)
    assert "destroys the layout's partitions" in found.unpredictable["gpu.nvidia.com"]


def early(values: dict[str, Any], minor: str = "1.35") -> tuple[list[NodeDevice], str, tuple[Any, ...]]:
    """Return the driver's devices on a cluster of an earlier minor, whose gates are off."""
    cluster = plan("hgx-h100-8", values).clusters[0]
    (driver,) = drivers_of(cluster)
    found = driver.driver.publishes(cluster.pools[0], driver, minor)
    name = driver.facts.driver
    devices = list(stored(found.devices, minor))
    return devices, found.unpredictable.get(name, ""), found.counters.get(name, ())


@pytest.mark.parametrize("minor", ["1.34", "1.35"])
def test_partitions_on_demand_without_counters_overlap_so_that_nothing_can_be_promised(minor: str) -> None:
    devices, reason, counters = early(ON_DEMAND, minor)
    assert {device.seen["attributes"]["type"]["string"] for device in devices} == {"gpu", "mig"}
    assert not any("consumesCounters" in device.placed for device in devices)
    assert counters == ()
    assert reason.startswith("with feature gate DynamicMIG the driver sends counters")
    assert f"API server of Kubernetes {minor} drops them" in reason


def test_a_gpu_that_was_sent_to_be_shared_is_stored_as_one_that_is_in_use_whole() -> None:
    devices, reason, _ = early({"featureGates": {"ConsumableShares": True}, "consumableShares": "memory"})
    assert reason == ""
    assert not any("allowMultipleAllocations" in device.seen for device in devices)
    assert devices[0].placed["capacity"] == {"memory": {"value": "81152Mi"}}


def shares(option: str) -> dict[str, Any]:
    return {"featureGates": {"ConsumableShares": True}, "consumableShares": option}


def part(memory: str) -> dict[str, Any]:
    return {"class": "gpu.nvidia.com", "capacity": {"memory": memory}}


def test_shares_are_published_with_the_policy_of_each_capacity() -> None:
    device = shape("hgx-h100-8", shares("4")).devices[0].seen
    assert device["allowMultipleAllocations"] is True
    assert device["capacity"]["shares"]["requestPolicy"]["default"] == "1"
    assert device["capacity"]["memory"]["requestPolicy"]["validRange"]["max"] == "81559Mi"
    assert shape("hgx-h100-8", shares("memory")).devices[0].seen["capacity"].keys() == {"memory"}
    assert "allowMultipleAllocations" not in shape("hgx-h100-8", shares("disabled")).devices[0].seen


@pytest.mark.parametrize(("copies", "word"), [(32, "guaranteed"), (33, "never")])
def test_as_many_claims_as_there_are_shares(copies: int, word: str) -> None:
    assert workloads(shares("4"), a=({"class": "gpu.nvidia.com"}, copies))["a"].word == word


@pytest.mark.parametrize(
    ("cpu", "copies", "word"),
    [
        ("22", 4, "guaranteed"),
        ("22", 5, "unknown"),
        ("22", 6, "never"),
        # Enough CPU for as many pods as there are GPUs, not for as many as there are shares.
        ("11", 8, "guaranteed"),
        ("11", 12, "never"),
    ],
)
def test_the_cpu_of_a_node_may_run_out_before_the_shares_of_its_gpus(
    cpu: str, copies: int, word: str
) -> None:
    found = workloads(shares("4"), pod={"cpu": cpu}, a=({"class": "gpu.nvidia.com"}, copies))
    assert found["a"].word == word


@pytest.mark.parametrize(("copies", "word"), [(24, "guaranteed"), (25, "never")])
def test_as_many_claims_as_memory_is_enough_for(copies: int, word: str) -> None:
    assert workloads(shares("memory"), a=(part("24Gi"), copies))["a"].word == word


@pytest.mark.parametrize(("copies", "word"), [(8, "guaranteed"), (9, "never")])
def test_a_claim_that_names_no_part_of_shared_memory_takes_it_all(copies: int, word: str) -> None:
    assert workloads(shares("memory"), a=({"class": "gpu.nvidia.com"}, copies))["a"].word == word


def test_a_part_of_an_unknown_amount_is_unknown() -> None:
    machine = {"gpu": "A30", "gpus": 1, "cpus": 64, "memory": 512}
    found = workloads(shares("memory"), machine, a=(part("11Gi"), 2))["a"]
    assert found.word == "unknown"
    assert "requests a part of memory, of which there is 22119Mi to 24Gi" in found.reason


A100 = {"gpu": "A100-SXM4-80GB", "gpus": 8, "cpus": 96, "memory": 1900}
WIDE = {"cel": ["device.driver == 'gpu.nvidia.com'"]}


def reported(environment: str = "development", *, claim: str = "mig-gpu-1g", name: str = "nvidia-mig") -> Any:
    settings = fleet(
        {"mig": pool(A100, "mig", taints=[])},
        classes={name: WIDE},
        claims={claim: {"requests": {"gpu": {"class": name}}}},
        workloads={"train": {"claim": claim, "copies": 7, "accept": {"order": "any"}}},
        environment=environment,
    )
    return prove(plan_of(settings))


@pytest.mark.parametrize(("claim", "name"), [("mig-gpu-1g", "some"), ("some", "nvidia-mig")])
def test_a_claim_named_for_partitions_that_gets_whole_gpus_is_a_warning(claim: str, name: str) -> None:
    proof = reported(claim=claim, name=name)
    (text,) = proof.warnings
    assert text.startswith(f"dra-fleet:fleet.claims.{claim}: on cluster lab: ")
    assert "is named for partitions, but selects whole devices: 8 per node of pool mig" in text
    assert proof.failures == ()


def test_in_production_it_is_an_error() -> None:
    (text,) = reported("production").failures
    assert "mig-gpu-1g is named for partitions, but selects whole devices" in text


def test_a_claim_of_another_name_is_none() -> None:
    assert reported(claim="gpu", name="all-gpus").warnings == ()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nvidia-mig", True),
        ("mig-gpu-1g", True),
        ("gpu-1g.10gb", True),
        ("no-mig", False),
        ("migration", False),
        ("gpu-16g", False),
    ],
)
def test_names_of_partitions(name: str, says: bool) -> None:
    assert names_partitions(name) is says
