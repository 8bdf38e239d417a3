from typing import Any

import pytest
from msgspec.structs import replace

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


@pytest.mark.parametrize(
    ("change", "step"),
    [
        pytest.param({"state": None}, MigStep(Action.BEGIN), id="a node begins by reporting pending"),
        pytest.param({"state": "success"}, MigStep(Action.BEGIN), id="so does a change after success"),
        pytest.param(
            {"holders": ("train-0", "train-1")},
            MigStep(Action.WAIT, "In use by another client: train-0, train-1"),
            id="it stays pending while a pod uses a device",
        ),
        pytest.param(
            {"paused": False}, MigStep(Action.PAUSE), id="the operator's own pods are stopped first"
        ),
        pytest.param(
            {"clients": ("gpu-feature-discovery-x",)},
            MigStep(Action.WAIT, "waiting for gpu-feature-discovery-x to shut down"),
            id="it waits until they are gone",
        ),
        pytest.param({}, MigStep(Action.REBOOT), id="Ampere reboots to change its mode"),
        pytest.param(
            {"with_reboot": False},
            MigStep(Action.FAIL, RESET_REFUSED),
            id="Ampere fails if it may not reboot",
        ),
        pytest.param(
            {"needs_reset": False, "with_reboot": False}, MigStep(Action.APPLY), id="Hopper needs no reboot"
        ),
        pytest.param(
            {"current": (TWO, TWO), "with_reboot": False},
            MigStep(Action.APPLY),
            id="another layout in the same mode needs no reboot",
        ),
        pytest.param(
            {"state": "rebooting"},
            MigStep(Action.FAIL, NOT_IN_EFFECT),
            id="a mode that a reboot did not change fails",
        ),
        pytest.param(
            {"state": "success", "current": READY.requested}, MigStep(Action.NOTHING), id="success is the end"
        ),
    ],
)
def test_next_step_of_a_node(change: dict[str, Any], step: MigStep) -> None:
    assert next_step(replace(READY, **change)) == step


def test_after_a_reboot_the_partitions_are_made() -> None:
    up = replace(READY, state="rebooting", current=after_reset(READY.requested, READY.current))
    assert up.current == ((), ())
    assert next_step(up) == MigStep(Action.BEGIN)
    assert next_step(replace(up, state="pending")) == MigStep(Action.APPLY)


@pytest.mark.parametrize("state", [None, "pending", "rebooting", "failed"])
def test_partitions_that_are_there_are_a_success_from_anywhere(state: str | None) -> None:
    assert next_step(replace(READY, state=state, current=READY.requested)) == MigStep(Action.SUCCEED)


def test_all_disabled_on_a_machine_without_partitions_is_a_success() -> None:
    off = Situation(state=None, requested=(None, None), current=(None, None), needs_reset=True)
    assert next_step(off) == MigStep(Action.SUCCEED)


def test_gpus_that_lose_their_mode_come_back_whole() -> None:
    assert after_reset((None, SEVEN), (SEVEN, None)) == (None, ())
