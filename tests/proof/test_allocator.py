from typing import Any

import pytest

from dra_fleet.kubernetes.cel import UNKNOWN
from dra_fleet.proof.allocator import (
    Allocation,
    CandidateNode,
    DeviceId,
    Failure,
    InUse,
    Inventory,
    NoFit,
    Outcome,
    Undecided,
    allocate,
)
from dra_fleet.proof.allocator.inventory import amount
from tests.rows import rows

Object = dict[str, Any]

DRIVER = "gpu.example.com"
HERE = CandidateNode("n1", {"zone": "one"})
CLASSES: dict[str, Object] = {
    "gpu": {"spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]}},
    "unguarded": {
        "spec": {"selectors": [{"cel": {"expression": f"device.attributes['{DRIVER}'].type == 'gpu'"}}]}
    },
}


def device(name: str, root: str = "r0", memory: str = "40Gi", **more: Any) -> Object:
    attributes = {"type": {"string": "gpu"}, "example.com/root": {"string": root}}
    return {"name": name, "attributes": attributes, "capacity": {"memory": {"value": memory}}, **more}


def pool(*devices: Object, name: str = "n1", **spec: Any) -> Object:
    where = (
        {}
        if {"allNodes", "nodeSelector", "perDeviceNodeSelection", "nodeName"} & set(spec)
        else {"nodeName": "n1"}
    )
    whole = {"name": name, "generation": 1, "resourceSliceCount": 1} | spec.pop("pool", {})
    return {
        "metadata": {"name": spec.pop("slice", f"slice-{name}")},
        "spec": {"driver": DRIVER, "pool": whole, "devices": list(devices), **where, **spec},
    }


def exactly(name: str = "gpu", count: int = 1, **more: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": "gpu", "count": count, **more}}


def claim(*requests: Object, constraints: list[Object] | None = None, name: str = "c") -> Object:
    devices = {"requests": list(requests), "constraints": constraints or []}
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"devices": devices}}


def attempt(claims: list[Object], *slices: Object, minor: str = "1.36", **more: Any) -> Outcome:
    return allocate(claims, CLASSES, Inventory(slices), HERE, minor=minor, **more)


def given(outcome: Outcome) -> list[list[str]]:
    assert isinstance(outcome, Allocation), outcome
    return [[f"{one.request}={one.device.device}" for one in claim] for claim in outcome.claims]


def test_the_first_devices_in_order_are_taken() -> None:
    outcome = attempt([claim(exactly(count=2))], pool(device("b")), pool(device("a"), device("c"), name="m"))
    assert given(outcome) == [["gpu=a", "gpu=c"]]


def test_several_claims_share_out_the_devices() -> None:
    outcome = attempt([claim(exactly()), claim(exactly())], pool(device("a"), device("b")))
    assert given(outcome) == [["gpu=a"], ["gpu=b"]]


def test_one_device_too_few_is_no_fit() -> None:
    assert attempt([claim(exactly(count=3))], pool(device("a"), device("b"))) == NoFit(
        "cannot allocate all claims"
    )


def test_a_device_in_use_is_left_alone_except_by_an_administrator() -> None:
    in_use = InUse(frozenset({DeviceId(DRIVER, "n1", "a")}))
    assert attempt([claim(exactly())], pool(device("a")), in_use=in_use) == NoFit()
    outcome = attempt([claim(exactly(adminAccess=True))], pool(device("a")), in_use=in_use)
    assert given(outcome) == [["gpu=a"]]


def test_a_constraint_makes_the_search_turn_back() -> None:
    requested = [{"matchAttribute": "example.com/root"}]
    outcome = attempt(
        [claim(exactly(count=2), constraints=requested)],
        pool(device("a", "r0"), device("b", "r1"), device("c", "r1")),
    )
    assert given(outcome) == [["gpu=b", "gpu=c"]]


def test_a_constraint_on_an_absent_attribute_never_holds() -> None:
    requested = [{"matchAttribute": "example.com/absent"}]
    assert attempt([claim(exactly(), constraints=requested)], pool(device("a"))) == NoFit()


def test_distinct_values_are_remembered_per_request_only() -> None:
    requested = [{"distinctAttribute": "example.com/root"}]
    devices = [device("a", "r0"), device("b", "r1"), device("c", "r0")]
    assert given(attempt([claim(exactly(count=3), constraints=requested)], pool(*devices))) == [
        ["gpu=a", "gpu=b", "gpu=c"]
    ]
    apart = claim(exactly("x"), exactly("y"), exactly("z"), constraints=requested)
    assert attempt([apart], pool(*devices)) == NoFit()


def test_all_takes_every_matching_device() -> None:
    everything = exactly(allocationMode="All")
    assert given(attempt([claim(everything)], pool(device("a"), device("b")))) == [["gpu=a", "gpu=b"]]
    assert attempt([claim(everything)], pool()) == NoFit()
    in_use = InUse(frozenset({DeviceId(DRIVER, "n1", "b")}))
    assert attempt([claim(everything)], pool(device("a"), device("b")), in_use=in_use) == NoFit()


def test_all_with_a_constraint_that_rejects_a_device_ends_the_attempt() -> None:
    requested = [{"matchAttribute": "example.com/root"}]
    outcome = attempt(
        [claim(exactly(allocationMode="All"), constraints=requested)],
        pool(device("a", "r0"), device("b", "r1")),
    )
    message = "cannot add device gpu.example.com/n1/b because a claim constraint would not be satisfied"
    assert outcome == Failure(f"claim ns/c, request gpu: {message}")


def test_the_first_alternative_that_fits_is_taken() -> None:
    choice = {
        "name": "gpu",
        "firstAvailable": [
            {"name": "big", "deviceClassName": "gpu", "count": 3},
            {"name": "small", "deviceClassName": "gpu", "count": 1},
        ],
    }
    assert given(attempt([claim(choice)], pool(device("a"), device("b")))) == [["gpu/small=a"]]


def test_more_than_32_devices_can_never_be_had() -> None:
    outcome = attempt([claim(exactly(count=33))], pool(device("a")))
    assert outcome == Failure("claim ns/c: number of requested devices 33 exceeds the claim limit of 32")


def test_a_missing_class_ends_the_attempt() -> None:
    outcome = attempt([claim(exactly(deviceClassName="absent"))], pool(device("a")))
    missing = 'deviceclass.resource.k8s.io "absent" not found'
    assert outcome == Failure(f"claim ns/c, request gpu: could not retrieve device class absent: {missing}")


def test_an_error_of_a_selector_on_any_device_ends_the_attempt() -> None:
    outcome = attempt([claim(exactly(deviceClassName="unguarded"))], pool({"name": "nic"}, device("a")))
    assert outcome == Failure("class unguarded: selector #0: CEL runtime error: no such key: type")


def test_a_selector_on_an_unknown_value_leaves_the_answer_open() -> None:
    unknown = device("a") | {"attributes": {"type": UNKNOWN}}
    outcome = attempt([claim(exactly(deviceClassName="unguarded"))], pool(unknown))
    assert isinstance(outcome, Undecided)
    assert "type is not known before the device exists" in outcome.message


def test_a_taint_must_be_tolerated_since_1_36() -> None:
    tainted = device("a", taints=[{"key": "broken", "effect": "NoSchedule"}])
    assert attempt([claim(exactly())], pool(tainted)) == NoFit()
    assert given(attempt([claim(exactly())], pool(tainted), minor="1.35")) == [["gpu=a"]]
    tolerant = exactly(tolerations=[{"key": "broken", "operator": "Exists"}])
    assert given(attempt([claim(tolerant)], pool(tainted))) == [["gpu=a"]]
    noted = device("a", taints=[{"key": "broken", "effect": "None"}])
    assert given(attempt([claim(exactly())], pool(noted))) == [["gpu=a"]]


def partitions() -> list[Object]:
    counters = pool(slice="counters", sharedCounters=[{"name": "gpu", "counters": {"slots": {"value": "7"}}}])
    takes = [
        device(name, consumesCounters=[{"counterSet": "gpu", "counters": {"slots": {"value": slots}}}])
        for name, slots in (("whole", "7"), ("half-0", "3"), ("half-1", "4"))
    ]
    both = [counters, pool(*takes)]
    for found in both:
        found["spec"]["pool"]["resourceSliceCount"] = 2
    return both


def test_partitions_share_counters() -> None:
    small = exactly(selectors=[{"cel": {"expression": "true"}}], count=2)
    assert given(attempt([claim(small)], *partitions())) == [["gpu=half-0", "gpu=half-1"]]
    in_use = InUse(frozenset({DeviceId(DRIVER, "n1", "whole")}))
    assert attempt([claim(exactly())], *partitions(), in_use=in_use) == NoFit()
    assert attempt([claim(exactly())], *partitions(), minor="1.35") == NoFit()


POLICY = {"default": "10Gi", "validRange": {"min": "5Gi", "step": "5Gi"}}


@pytest.mark.parametrize(
    ("requested", "consumed"),
    [(None, "10Gi"), ("1Gi", "5Gi"), ("6Gi", "10Gi"), ("40Gi", "40Gi"), ("41Gi", None)],
)
def test_parts_of_a_device_are_rounded_by_its_policy(requested: str | None, consumed: str | None) -> None:
    shared = device("a", allowMultipleAllocations=True)
    shared["capacity"]["memory"]["requestPolicy"] = POLICY
    request = exactly(capacity={"requests": {"memory": requested}} if requested else None)
    outcome = attempt([claim(request)], pool(shared))
    if consumed is None:
        assert outcome == NoFit()
        return
    assert isinstance(outcome, Allocation)
    assert outcome.claims[0][0].consumed == {"memory": amount(consumed)}


def test_a_shared_device_is_given_until_it_is_empty() -> None:
    shared = device("a", allowMultipleAllocations=True)
    shared["capacity"]["memory"]["requestPolicy"] = POLICY
    half = exactly(capacity={"requests": {"memory": "20Gi"}})
    assert given(attempt([claim(half), claim(half)], pool(shared))) == [["gpu=a"], ["gpu=a"]]
    assert attempt([claim(half), claim(half), claim(half)], pool(shared)) == NoFit()
    in_use = InUse(capacity={DeviceId(DRIVER, "n1", "a"): {"memory": amount("25Gi")}})
    assert attempt([claim(half)], pool(shared), in_use=in_use) == NoFit()


def test_requested_capacity_is_found_by_its_literal_name_only() -> None:
    named = exactly(capacity={"requests": {f"{DRIVER}/memory": "1Gi"}})
    assert attempt([claim(named)], pool(device("a"))) == NoFit()


def test_only_the_newest_generation_counts() -> None:
    old = pool(device("old"))
    new = pool(device("new"), slice="newer", pool={"generation": 2})
    assert given(attempt([claim(exactly())], old, new)) == [["gpu=new"]]


def test_an_incomplete_pool_gives_nothing_since_1_35() -> None:
    half = pool(device("a"), pool={"resourceSliceCount": 2})
    assert attempt([claim(exactly())], half) == NoFit()
    assert given(attempt([claim(exactly())], half, minor="1.34")) == [["gpu=a"]]
    message = "asks for all devices, but resource pool gpu.example.com/n1 is currently being updated"
    assert attempt([claim(exactly(allocationMode="All"))], half) == Failure(
        f"claim ns/c, request gpu: {message}"
    )


def test_an_invalid_pool_gives_nothing_and_was_fatal_in_1_34() -> None:
    twice = pool(device("a"), device("a"))
    assert attempt([claim(exactly())], twice) == NoFit("invalid resource pools were encountered")
    assert attempt([claim(exactly())], twice, minor="1.34") == Failure(
        "pool n1 is invalid: duplicate device name a"
    )


@rows(__file__, "test_a_slice_concerns_the_nodes_it_names", "where fits")
def test_a_slice_concerns_the_nodes_it_names(where: Object, fits: bool) -> None:
    outcome = attempt([claim(exactly())], pool(device("a"), **where))
    assert isinstance(outcome, Allocation) is fits


def test_devices_may_name_their_nodes_themselves() -> None:
    mixed = pool(device("a", nodeName="n2"), device("b", allNodes=True), perDeviceNodeSelection=True)
    assert given(attempt([claim(exactly())], mixed)) == [["gpu=b"]]
    assert attempt([claim(exactly())], mixed, minor="1.35") == NoFit()


RANGE = {"default": "1", "validRange": {"min": "1", "max": "9", "step": "4"}}


# consumable_capacity.go of https://github.com/kubernetes/dynamic-resource-allocation, v0.37.2.
