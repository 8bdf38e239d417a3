from typing import Any

import pytest

from dra_fleet.drivers.example.driver import Options, example_devices
from dra_fleet.drivers.installed import drivers_of
from dra_fleet.proof.supply.prediction import inventory_of, predict, stored
from tests.proof.proof_helpers import fleet, gpus, plan_of, pool, proved

GPUS = gpus(1)
SHARED: dict[str, Any] = {"gpuAllowMultipleAllocations": True}


def settings(values: dict[str, Any], request: dict[str, Any], copies: int) -> dict[str, Any]:
    return fleet(
        {"any": pool(GPUS, "any")},
        drivers={"example": {"version": "0.4.0", "values": values}},
        claims={"some": {"requests": {"gpu": {"class": "gpu.example.com", **request}}}},
        workloads={"smoke": ("some", copies)},
    )


def verdict(values: dict[str, Any], request: dict[str, Any], copies: int) -> str:
    (found,) = proved(settings(values, request, copies)).workloads
    return found.word


def devices(number: int = 1, **values: Any) -> dict[str, Any]:
    return {"kubeletPlugin": {"numDevices": number, **values.pop("plugin", {})}, **values}


def of_minor(values: dict[str, Any], minor: str) -> tuple[list[dict[str, Any]], str, int]:
    cluster = plan_of(settings(values, {}, 1)).clusters[0]
    (driver,) = drivers_of(cluster)
    found = driver.driver.publishes(cluster.pools[0], driver, minor)
    name = driver.facts.driver
    kept = [device.placed for device in stored(found.devices, minor)]
    return kept, found.unpredictable.get(name, ""), len(found.counters.get(name, ()))


@pytest.mark.parametrize(("copies", "word"), [(5, "guaranteed"), (6, "never")])
def test_as_many_claims_as_the_memory_of_a_shared_device_is_enough_for(copies: int, word: str) -> None:
    assert verdict(devices(**SHARED), {"capacity": {"memory": "16Gi", "compute": "20"}}, copies) == word


@pytest.mark.parametrize(("copies", "word"), [(1, "guaranteed"), (2, "never")])
def test_a_claim_that_names_no_part_takes_a_shared_device_whole(copies: int, word: str) -> None:
    assert verdict(devices(**SHARED), {}, copies) == word


def test_a_part_is_rounded_up_to_the_driver_s_steps() -> None:
    assert verdict(devices(**SHARED), {"capacity": {"compute": "50", "memory": "40000Mi"}}, 2) == "guaranteed"
    assert verdict(devices(**SHARED), {"capacity": {"compute": "50", "memory": "40961Mi"}}, 2) == "never"


@pytest.mark.parametrize(("copies", "word"), [(8, "guaranteed"), (9, "never")])
def test_partitions_of_a_device_are_given_to_different_claims(copies: int, word: str) -> None:
    values = devices(2, plugin={"gpuPartitions": 4})
    request = {"selectors": ["!('full' in device.attributes['gpu.example.com'])"]}
    assert verdict(values, request, copies) == word


def test_partitions_are_before_the_whole_device_and_all_counters_in_a_separate_slice() -> None:
    plan = plan_of(settings(devices(2, plugin={"gpuPartitions": 2}), {}, 1))
    (group,) = predict(plan.clusters[0])
    counters, published = [item.spec for item in inventory_of(group.shape).slices]
    assert [entry["name"] for entry in counters["sharedCounters"]] == ["gpu-0-counters", "gpu-1-counters"]
    assert [device["name"] for device in published["devices"]][:3] == [
        "gpu-0-partition-0",
        "gpu-0-partition-1",
        "gpu-0-full",
    ]
    assert published["devices"][0]["capacity"] == {"compute": {"value": "50"}, "memory": {"value": "40Gi"}}


def test_an_earlier_server_keeps_neither_shares_nor_counters() -> None:
    kept, reason, counters = of_minor(devices(1, plugin={"gpuPartitions": 2}, **SHARED), "1.35")
    assert (len(kept), reason, counters) == (3, "", 0)
    assert not any({"allowMultipleAllocations", "consumesCounters"} & set(device) for device in kept)
    assert not any("requestPolicy" in entry for device in kept for entry in device["capacity"].values())


def test_more_devices_with_counters_than_a_slice_takes_are_never_published() -> None:
    kept, reason, _ = of_minor(devices(8, plugin={"gpuPartitions": 8}), "1.36")
    assert kept == []
    assert reason.startswith("the example driver puts all 72 devices that share counters into one slice")


@pytest.mark.parametrize("number", [129, 10**9])
def test_more_devices_than_a_slice_takes_are_never_published(number: int) -> None:
    kept, reason, _ = of_minor(devices(number), "1.36")
    assert kept == []
    assert reason.startswith(f"the example driver puts all {number} devices into one slice")


def test_another_profile_is_not_predicted() -> None:
    kept, reason, _ = of_minor({"deviceProfile": "net"}, "1.36")
    assert kept == []
    assert reason.startswith("value deviceProfile changes what the example driver publishes")


def test_the_example_driver_publishes_as_many_gpus_as_it_is_reported() -> None:
    first, second = example_devices("n1", Options(count=2))
    assert (first.name, second.name) == ("gpu-0", "gpu-1")
    assert first.to_object()["attributes"]["model"] == {"string": "LATEST-GPU-MODEL"}
    assert first.to_object()["capacity"] == {"compute": {"value": "100"}, "memory": {"value": "80Gi"}}
    assert first.attributes["uuid"] != second.attributes["uuid"]
    assert example_devices("n2", Options(count=1))[0].attributes["uuid"] != first.attributes["uuid"]
