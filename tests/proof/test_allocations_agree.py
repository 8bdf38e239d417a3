from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from dra_fleet.proof.allocator import (
    Allocation,
    CandidateNode,
    DeviceId,
    Failure,
    InUse,
    Inventory,
    NoFit,
    Outcome,
    TimedOut,
    outcomes,
)
from dra_fleet.proof.allocator.inventory import amount
from tests.proof.allocation_cases import AllocationCases
from tests.proof.allocation_features import features_of, features_of_minor
from tests.proof.allocation_values import CLASSES
from tests.proof.kubernetes_reference import ENDS, MINORS, ask
from tests.proof.shrinking import shrunk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Compared = Callable[[str, Mapping[str, int]], None]

pytestmark = pytest.mark.engine

Object = dict[str, Any]

SEED = 20261121
CASES = 2000
HALF = CASES // 2
STEPS = 200_000
UNSATISFIABLE = ("nofit", "node-error")
LEAST_UNSATISFIABLE, LEAST_BACKTRACKING, MOST_TIMED_OUT = 0.3, 0.2, 0.02


def own(case: Object, minor: str, classes: Mapping[str, Object] = CLASSES) -> list[Object]:
    """Return dra-fleet's answer in the form of the reference: a verdict per order of pools."""
    exclusive = frozenset(DeviceId(name["driver"], name["pool"], name["device"]) for name in case["inUse"])
    shared = {
        DeviceId(used["driver"], used["pool"], used["device"]): {
            name: amount(value) for name, value in used["capacity"].items()
        }
        for used in case["consumed"]
    }
    found = outcomes(
        case["claims"],
        classes,
        Inventory(case["slices"]),
        CandidateNode(case["node"], case["labels"]),
        in_use=InUse(exclusive, shared),
        minor=minor,
        most_steps=STEPS,
    )
    return [verdict(outcome) for outcome in found]


def verdict(outcome: Outcome) -> Object:
    if isinstance(outcome, Allocation):
        claims = [
            [{"request": one.request, **one.device._asdict()} for one in claim] for claim in outcome.claims
        ]
        return {"outcome": "allocated", "message": "", "claims": claims}
    if isinstance(outcome, TimedOut):
        return {"outcome": "timeout", "message": "", "claims": None}
    if isinstance(outcome, Failure):
        return {"outcome": "error", "message": outcome.message, "claims": None}
    if isinstance(outcome, NoFit):
        if outcome == NoFit():
            return {"outcome": "nofit", "message": "", "claims": None}
        return {"outcome": "node-error", "message": outcome.reason, "claims": None}
    return {"outcome": "undecided", "message": outcome.message, "claims": None}


def checked(theirs: Object, case: Object, minor: str, classes: Mapping[str, Object] = CLASSES) -> str:
    """agreed, different, undecided here, or timed out on either side, which is neither."""
    assert "panic" not in theirs, theirs
    if theirs["outcome"] == "timeout":
        return "timed out"
    mine = own(case, minor, classes)
    if any(found["outcome"] == "timeout" for found in mine):
        return "timed out"
    return (
        "agreed"
        if {**theirs, "retreats": None} in [{**found, "retreats": None} for found in mine]
        else "different"
    )


def refuse(case: Object, theirs: Object, minor: int, own_as: int) -> None:
    """Fail with the smallest case that shows the same difference."""
    kinds = theirs["outcome"], own(case, f"1.{own_as}")[0]["outcome"]

    def still_differs(smaller: Object) -> bool:
        try:
            (their,), mine = ask("allocation", [smaller], minor=minor), own(smaller, f"1.{own_as}")
        except (LookupError, TypeError, ValueError):
            return False
        if "panic" in their or (their["outcome"], mine[0]["outcome"]) != kinds:
            return False
        return checked(their, smaller, f"1.{own_as}") == "different"

    smallest = shrunk(case, still_differs)
    output = json.dumps({**smallest, "classes": "as in allocation_cases.CLASSES"})
    (their,) = ask("allocation", [smallest], minor=minor)
    answer = own(smallest, f"1.{own_as}")
    pytest.fail(f"1.{minor}: Kubernetes says {their}, dra-fleet says {answer}, on {output}")


def agree(minor: int, cases: list[Object], seed: int, compared: Compared, own_as: int | None = None) -> None:
    own_as = own_as or minor
    print(f"1.{minor}, seed {seed}")  # noqa: T201 - shown where the test fails
    counts: Counter[str] = Counter()
    for case, theirs in zip(cases, ask("allocation", cases, minor=minor), strict=True):
        found = checked(theirs, case, f"1.{own_as}")
        if found == "different":
            refuse(case, theirs, minor, own_as)
        counts[found] += 1
        counts["unsatisfiable"] += theirs["outcome"] in UNSATISFIABLE
        counts["refused"] += theirs["outcome"] == "error"
        counts["allocated"] += theirs["outcome"] == "allocated"
        counts["allocated after backtracking"] += theirs["outcome"] == "allocated" and theirs["retreats"] > 0
    compared(f"allocations on 1.{minor} (seed {seed})", {"cases": len(cases), **counts})
    assert counts["unsatisfiable"] >= LEAST_UNSATISFIABLE * len(cases)
    assert counts["allocated after backtracking"] >= LEAST_BACKTRACKING * len(cases)
    assert counts["timed out"] <= MOST_TIMED_OUT * len(cases)


def drawn(minor: int, seed: int = SEED) -> list[Object]:
    generator = AllocationCases(seed + minor, minor=minor)
    return [generator.draw() for _ in range(CASES)]


@pytest.mark.parametrize("minor", MINORS)
def test_every_pair_of_features_occurs(minor: int, compared: Compared) -> None:
    seen = {pair for case in drawn(minor)[:HALF] for pair in combinations(sorted(features_of(case)), 2)}
    requested = set(combinations(sorted(features_of_minor(minor)), 2))
    assert sorted(requested - seen) == []
    compared(f"allocations on 1.{minor} (seed {SEED + minor})", {"pairs of features": len(requested)})


@pytest.mark.parametrize("minor", ENDS)
def test_allocations_are_those_of_the_go_allocator(minor: int, compared: Compared) -> None:
    agree(minor, drawn(minor)[:HALF], SEED + minor, compared)


@pytest.mark.full
@pytest.mark.parametrize("minor", MINORS)
def test_the_other_half_of_the_allocations_are_those_of_the_go_allocator(
    minor: int, compared: Compared
) -> None:
    agree(minor, drawn(minor)[HALF:], SEED + minor, compared)


def test_a_difference_is_shown_by_its_smallest_case() -> None:
    """1.37 remembers all devices that must differ, 1.36 the last of each request only."""
    root = "example.com/root"
    devices: list[Object] = [
        {"name": name, "attributes": {root: {"string": value}, "type": {"string": "gpu"}}}
        for name, value in (("a", "r0"), ("b", "r1"), ("c", "r0"))
    ]
    request: Object = {
        "name": "r",
        "exactly": {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 3},
    }
    constraint: Object = {"requests": [], "distinctAttribute": root}
    spec: Object = {"devices": {"requests": [request], "constraints": [constraint]}}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    slices: Object = {"driver": "gpu.example.com", "pool": pool, "nodeName": "node-a", "devices": devices}
    case: Object = {
        "node": "node-a",
        "labels": {},
        "classes": list(CLASSES.values()),
        "claims": [{"metadata": {"name": "c", "namespace": "d"}, "spec": spec}],
        "slices": [{"metadata": {"name": "s"}, "spec": slices}],
        "inUse": [],
        "consumed": [],
    }
    with pytest.raises(pytest.fail.Exception) as shown:
        agree(37, [case], SEED, lambda _title, _counts: None, own_as=36)
    assert "1.37: Kubernetes says {'outcome': 'nofit'" in str(shown.value)
    assert "distinctAttribute" in str(shown.value)
    assert '"type"' not in str(shown.value)
