"""Faults at steps of a deployment: afterwards the same objects exist as after an undisturbed run.

Each case ends with the same comparison, object by object. `recover` runs if a message asks for it, and before
a destroy is repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.faults import POINTS, QUICK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.faults.fault_lab import FaultLab, Step
    from tests.faults.faults import Fault

LEAST_POINTS = 60


def points() -> Iterator[object]:
    """Each fault point as a parameter; `make test` injects those that are not marked."""
    for fault, step in POINTS:
        is_quick = step == "update" and fault.name in QUICK
        name = f"{step} {fault.name}".replace(" ", "-")
        yield pytest.param(fault, step, id=name, marks=() if is_quick else pytest.mark.full)


@pytest.mark.engine
@pytest.mark.parametrize(("fault", "step"), [*points()])
def test_a_step_with_a_fault_ends_like_an_undisturbed_one(
    lab: FaultLab, fault: Fault, step: Step, fault_outcome: Callable[[str, str, str], None]
) -> None:
    fault_outcome(fault.name, step, "failed")
    lab.begin(step)

    fault.inject(lab)
    outcome = lab.complete(**dict(fault.variables))

    assert lab.snapshot() == lab.undisturbed[lab.target]
    assert [process.cmdline() for process in lab.engine_processes()] == []
    assert lab.secrets_in_logs() == []
    with_variables = " with the variable that drift prints" if fault.variables else ""
    fault_outcome(fault.name, step, outcome + with_variables)


def test_the_table_has_enough_distinct_fault_points() -> None:
    assert len({(fault.name, step) for fault, step in POINTS}) == len(POINTS) >= LEAST_POINTS
