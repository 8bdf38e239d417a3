"""The main job: the dev stack from its file to allocated devices, on the real engine and control plane."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.engine.rehearsed import PROJECT

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine

WANTED = {"train": 4, "train-pair": 2, "infer": 22, "infer-pair": 3}


def git_status() -> str:
    return subprocess.run(
        ["git", "status", "--porcelain"], cwd=PROJECT, check=True, capture_output=True, text=True
    ).stdout


def test_every_workload_of_the_dev_stack_holds_its_devices(rehearsed: Rehearsed) -> None:
    up = rehearsed.run("rehearse", "up", "--json")

    assert up.code == 0, up.err
    status = rehearsed.run("rehearse", "status", "--json").json
    assert status["all_allocated"] is True
    lab = status["clusters"]["lab"]
    assert lab["kubernetes"] == "v1.36.3"
    assert lab["pools"] == {"h100": {"nodes": 1, "devices": 8}, "a100": {"nodes": 1, "devices": 28}}
    allocated = {name: item["allocated"] for name, item in lab["workloads"].items()}
    assert allocated == WANTED
    assert rehearsed.promised("dev") == {"lab": allocated}
    devices = [
        (device["pool"], device["device"])
        for item in lab["workloads"].values()
        for pod in item["pods"]
        for device in pod["devices"]
    ]
    assert len(devices) == len(set(devices)) == 36
    assert [item["reason"] for item in lab["workloads"].values()] == [None] * 4


def test_the_same_stack_a_second_time_changes_nothing(rehearsed: Rehearsed) -> None:
    first = rehearsed.run("rehearse", "up", "--json")
    assert first.code == 0, first.err

    second = rehearsed.run("rehearse", "up", "--json")

    assert second.code == 0, second.err
    assert second.json["changes"] == 0
    assert second.json["policy"]["rules"] == ["cluster-require-minimum-kubernetes"]


def test_a_preview_typed_by_hand_shows_no_change_and_leaves_the_checkout_alone(rehearsed: Rehearsed) -> None:
    assert rehearsed.run("rehearse", "up").code == 0
    before = git_status()

    typed = rehearsed.shell("pulumi preview --stack dev --expect-no-changes --color never")

    assert typed.code == 0, typed.out + typed.err
    assert git_status() == before


def test_the_state_holds_no_credential_in_clear(rehearsed: Rehearsed) -> None:
    assert rehearsed.run("rehearse", "up").code == 0

    state = rehearsed.state("dev")

    for mark in (
        "PRIVATE KEY",
        "certificate-authority-data",
        "eyJhbGciOi",
        "client-key-data",
        "current-context",
    ):
        assert mark not in state


def test_down_leaves_no_process_and_up_goes_on_from_there(own_rehearsed: Rehearsed) -> None:
    assert own_rehearsed.run("rehearse", "up").code == 0
    assert own_rehearsed.processes()

    assert own_rehearsed.run("rehearse", "down").code == 0

    assert own_rehearsed.processes() == []
    again = own_rehearsed.run("rehearse", "up", "--json")
    assert again.code == 0, again.err
    assert again.json["changes"] == 0
    assert again.json["all_allocated"] is True
