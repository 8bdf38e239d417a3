"""Every allocation is the Go allocator's own: fits or not, which devices, and the words of every failure."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from fleet.proof.allocator import (
    Allocation,
    DeviceId,
    Failure,
    InUse,
    Inventory,
    Node,
    NoFit,
    Outcome,
    TimedOut,
    allocate,
)
from fleet.proof.allocator.inventory import amount
from tests.fleet.proof.allocation_cases import CLASSES, AllocationCases
from tests.fleet.proof.kubernetes_oracle import ask

pytestmark = pytest.mark.engine

SEED = 20261121


def ours(case: dict[str, Any], minor: int) -> Outcome:
    exclusive = frozenset(DeviceId(*name.values()) for name in case["inUse"])
    shared = {
        DeviceId(used["driver"], used["pool"], used["device"]): {
            name: amount(value) for name, value in used["capacity"].items()
        }
        for used in case["consumed"]
    }
    node = Node(case["node"], case["labels"])
    slices = Inventory(case["slices"])
    return allocate(
        case["claims"], CLASSES, slices, node, in_use=InUse(exclusive, shared), minor=f"1.{minor}"
    )


def verdict(outcome: Outcome) -> dict[str, Any]:
    """An outcome in the oracle's form."""
    if isinstance(outcome, Allocation):
        claims = [
            [{"request": one.request, **one.device._asdict()} for one in claim] for claim in outcome.claims
        ]
        return {"outcome": "allocated", "message": "", "claims": claims}
    if isinstance(outcome, Failure):
        return {"outcome": "error", "message": outcome.message, "claims": None}
    if isinstance(outcome, NoFit):
        is_invalid = "invalid" in outcome.reason
        message = outcome.reason if is_invalid else ""
        return {"outcome": "node-error" if is_invalid else "nofit", "message": message, "claims": None}
    return {"outcome": type(outcome).__name__, "message": outcome.message, "claims": None}


def agree(minor: int, number: int, seed: int) -> None:
    cases = AllocationCases(seed, minor=minor)
    questions = [cases.draw() for _ in range(number)]
    counts: Counter[str] = Counter()
    differences: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = []
    for question, theirs in zip(questions, ask("allocation", questions, minor=minor), strict=True):
        counts[theirs["outcome"]] += 1
        outcome = ours(question, minor)
        if isinstance(outcome, TimedOut) or theirs["outcome"] == "timeout":
            counts["timed out"] += 1
        elif verdict(outcome) != theirs:
            differences.append((question, verdict(outcome), theirs))
    print(f"{number} allocations on 1.{minor}, seed {seed}: {dict(counts)}")  # noqa: T201 - the counts are part of the result
    smallest = min(differences, key=lambda found: len(str(found)), default=None)
    assert smallest is None, f"{len(differences)} differences, seed {seed}"
    assert counts["allocated"] > number / 20
    assert counts["nofit"] > number * 0.3


@pytest.mark.parametrize(("minor", "number"), [(34, 150), (35, 150), (36, 500)])
def test_allocations_are_those_of_the_go_allocator(minor: int, number: int) -> None:
    agree(minor, number, SEED + minor)


@pytest.mark.full
@pytest.mark.parametrize(("minor", "number"), [(34, 2000), (35, 2000), (36, 10_000)])
def test_thousands_of_allocations_are_those_of_the_go_allocator(minor: int, number: int) -> None:
    agree(minor, number, SEED + 100 * minor)
