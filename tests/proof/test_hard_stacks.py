import cProfile
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings, target

from dra_fleet.fleet.plan import FleetPlan
from dra_fleet.proof.prove import prove
from dra_fleet.proof.search import placements
from tests.proof.hard_stacks import stacks
from tests.proof.proof_helpers import fleet, plan_of, pool, proved

SMALL = 10_000
"""Bytes: 10 % of the file whose proof may take five seconds."""
MOST_CALLS = 2_000_000
"""Calls of functions for 10 % of the steps; a CPU makes some five millions a second."""
ENDLESS = {
    "requests": {"r": {"class": "mig.nvidia.com", "count": 9}},
    "constraints": [{"distinctAttribute": "gpu.nvidia.com/parentUUID"}],
}


@pytest.fixture
def fewer_steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr(placements, "MOST_STEPS_OF_ALL", placements.MOST_STEPS_OF_ALL // 10)
        yield


def calls(plan: FleetPlan) -> int:
    """The functions that a proof calls."""
    profile = cProfile.Profile()
    profile.runcall(prove, plan)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.slow
@pytest.mark.usefixtures("fewer_steps")
@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.target],
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
@given(stacks(SMALL))
def test_no_stack_file_takes_more_calls_than_any_may(stack: dict[str, Any]) -> None:
    made = calls(plan_of(stack))
    target(float(made))
    assert made < MOST_CALLS, json.dumps(stack)


def test_a_stack_whose_steps_are_used_up_is_unknown_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placements, "MOST_STEPS_OF_ALL", 0)
    monkeypatch.setattr(placements, "STEPS_OF_A_PART", 1)
    stack = fleet(
        {"p": pool("hgx-h100-8", "p")},
        classes={"large": {"driver": "nvidia", "type": "gpu", "memory": {"min": "70Gi"}}},
        claims={"c": {"requests": {"gpu": {"class": "large"}}}},
        workloads={"w": ("c", 1)},
    )
    proof = proved(stack)
    assert [(item.word, item.reason) for item in (*proof.claims, *proof.workloads)] == [
        ("unknown", f"pool p: {placements.TOO_LARGE}"),
        ("unknown", placements.TOO_LARGE),
    ]
    assert [(fit.matches, fit.reason) for fit in proof.classes[0].pools] == [(None, placements.TOO_LARGE)]
    assert not proof.failures


def test_of_hundreds_of_pools_that_lack_a_device_the_first_are_reported() -> None:
    stack = fleet(
        {f"p{number}": pool("cpu-16", f"p{number}") for number in range(300)},
        claims={"c": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}},
        workloads={"w": ("c", 1)},
    )
    proof = proved(stack)
    assert [failure.count("; pool p") for failure in proof.failures] == [11]
    assert all("; and 288 more pools" in failure for failure in proof.failures)


@pytest.mark.slow
def test_an_endless_search_leaves_the_steps_that_others_need() -> None:
    machine = pool("dgx-a100-40-8", "p", sharing={"strategy": "mig", "layout": {"1g.5gb": 7}})
    proof = proved(
        fleet(
            {"p": machine},
            claims={"a": ENDLESS, "b": {"requests": {"r": {"class": "mig.nvidia.com"}}}},
            workloads={"w": ("b", 3)},
        )
    )
    assert {item.name: item.word for item in proof.claims} == {"a": "unknown", "b": "guaranteed"}
    assert [item.word for item in proof.workloads] == ["guaranteed"]
