import pytest

from dra_fleet.proof.allocator import Allocation, Failure, NoFit
from tests.proof.test_allocator import DRIVER, RANGE, attempt, claim, exactly, pool


@pytest.mark.parametrize(
    ("requested", "problem"),
    [
        ("10E", "request 10E exceeds MaxInt64"),
        ("9223372036854775807", "rounding request 9223372036854775807 up to the next step passes MaxInt64"),
    ],
)
def test_from_1_37_on_an_amount_that_cannot_be_counted_gives_up_on_the_pod(
    requested: str, problem: str
) -> None:
    shared = {
        "name": "a",
        "allowMultipleAllocations": True,
        "capacity": {"share": {"value": "9", "requestPolicy": RANGE}},
    }
    claims = [claim(exactly(capacity={"requests": {"share": requested}}))]
    arithmetic = "capacity request cannot be represented in the device's range arithmetic"
    output = f'checking capacity for device {DRIVER}/n1/a: capacity "share": {arithmetic}: {problem}'
    found = attempt(claims, pool(shared), minor="1.37")
    assert isinstance(found, Failure)
    assert found.message.endswith(f"request gpu: {output}")
    assert attempt(claims, pool(shared), minor="1.36") == NoFit()


def test_from_1_37_on_a_negative_part_gives_up_on_the_pod() -> None:
    shared = {"name": "a", "allowMultipleAllocations": True, "capacity": {"share": {"value": "9"}}}
    claims = [claim(exactly(capacity={"requests": {"share": "-1"}}))]
    found = attempt(claims, pool(shared), minor="1.37")
    assert isinstance(found, Failure)
    assert found.message.endswith('capacity "share": capacity value is negative')


@pytest.mark.parametrize(("minor", "fits"), [("1.36", True), ("1.37", False)])
def test_from_1_37_on_compatibility_groups_leave_a_pool_out(minor: str, *, fits: bool) -> None:
    # `GatherPools` of pools_incubating.go, v0.37.2; the gate is off, so that a stock 1.36 never sees them.
    counters = {"counterSet": "s", "counters": {"c": {"value": "1"}}}
    part = {"name": "a", "consumesCounters": [{**counters, "compatibilityGroups": ["left"]}]}
    of_pool = {"name": "n1", "generation": 1, "resourceSliceCount": 2}
    base = {"driver": DRIVER, "nodeName": "n1", "pool": of_pool}
    sets = [{"name": "s", "counters": {"c": {"value": "1"}}}]
    slices = [
        {"metadata": {"name": "s0"}, "spec": {**base, "sharedCounters": sets}},
        {"metadata": {"name": "s1"}, "spec": {**base, "devices": [part]}},
    ]
    found = attempt([claim(exactly())], *slices, minor=minor)
    assert isinstance(found, Allocation) is fits


SHARED = {"name": "a", "allowMultipleAllocations": True, "capacity": {"share": {"value": "9"}}}
QUALIFIED = claim(exactly(capacity={"requests": {f"{DRIVER}/share": "1"}}))


@pytest.mark.parametrize(("minor", "fits"), [("1.37", False), ("1.38", True)])
def test_from_1_38_on_a_capacity_can_be_requested_with_the_name_of_the_driver(
    minor: str, *, fits: bool
) -> None:
    # `resolveCapacityRequests` of consumable_capacity.go, v0.38.0-beta.0.
    assert isinstance(attempt([QUALIFIED], pool(SHARED), minor=minor), Allocation) is fits


def test_from_1_38_on_two_parts_fill_a_capacity_however_they_are_named() -> None:
    rest = claim(exactly(capacity={"requests": {"share": "9"}}), name="b")
    assert attempt([QUALIFIED, rest], pool(SHARED), minor="1.38") == NoFit()
