from dataclasses import replace

import pytest

from dra_fleet.drivers.nvidia.simulation.operator.mig_manager import (
    NOT_IN_EFFECT,
    RESET_REFUSED,
    Action,
    MigStep,
    Situation,
    after_reset,
    next_step,
)

SEVEN = (("1g.10gb", 7),)
TWO = (("3g.40gb", 2),)
READY = Situation(
    state="pending",
    requested=(SEVEN, SEVEN),
    current=(None, None),
    needs_reset=True,
    with_reboot=True,
    paused=True,
)
"""A100 with MIG mode off, everything stopped: the reboot is the next step."""


def test_a_node_begins_by_reporting_pending() -> None:
    assert next_step(replace(READY, state=None)) == MigStep(Action.BEGIN)


def test_a_change_after_success_begins_with_pending_too() -> None:
    assert next_step(replace(READY, state="success")) == MigStep(Action.BEGIN)


def test_it_stays_pending_while_a_pod_holds_a_device() -> None:
    step = next_step(replace(READY, holders=("train-0", "train-1")))
    assert step == MigStep(Action.WAIT, "In use by another client: train-0, train-1")


def test_the_operators_own_pods_are_stopped_first() -> None:
    assert next_step(replace(READY, paused=False)) == MigStep(Action.PAUSE)


def test_it_waits_until_they_are_gone() -> None:
    step = next_step(replace(READY, clients=("gpu-feature-discovery-x",)))
    assert step == MigStep(Action.WAIT, "waiting for gpu-feature-discovery-x to shut down")


def test_ampere_reboots_to_change_its_mode() -> None:
    assert next_step(READY) == MigStep(Action.REBOOT)


def test_without_leave_to_reboot_ampere_fails() -> None:
    assert next_step(replace(READY, with_reboot=False)) == MigStep(Action.FAIL, RESET_REFUSED)


def test_hopper_needs_no_reboot() -> None:
    assert next_step(replace(READY, needs_reset=False, with_reboot=False)) == MigStep(Action.APPLY)


def test_another_layout_in_the_same_mode_needs_no_reboot() -> None:
    assert next_step(replace(READY, current=(TWO, TWO), with_reboot=False)) == MigStep(Action.APPLY)


def test_after_a_reboot_the_partitions_are_made() -> None:
    up = replace(READY, state="rebooting", current=after_reset(READY.requested, READY.current))
    assert up.current == ((), ())
    assert next_step(up) == MigStep(Action.BEGIN)
    assert next_step(replace(up, state="pending")) == MigStep(Action.APPLY)


def test_a_mode_that_a_reboot_did_not_change_fails() -> None:
    assert next_step(replace(READY, state="rebooting")) == MigStep(Action.FAIL, NOT_IN_EFFECT)


@pytest.mark.parametrize("state", [None, "pending", "rebooting", "failed"])
def test_partitions_that_are_there_are_a_success_from_anywhere(state: str | None) -> None:
    assert next_step(replace(READY, state=state, current=READY.requested)) == MigStep(Action.SUCCEED)


def test_success_is_the_end() -> None:
    assert next_step(replace(READY, state="success", current=READY.requested)) == MigStep(Action.NOTHING)


def test_all_disabled_on_a_machine_without_partitions_is_a_success() -> None:
    off = Situation(state=None, requested=(None, None), current=(None, None), needs_reset=True)
    assert next_step(off) == MigStep(Action.SUCCEED)


def test_gpus_that_lose_their_mode_come_back_whole() -> None:
    assert after_reset((None, SEVEN), (SEVEN, None)) == (None, ())
