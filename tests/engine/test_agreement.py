"""The comparison of a rehearsal with the proof: each disagreement is found."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.agreement import disagreements


def proof(word: str = "guaranteed", copies: int = 4, devices: int = 8) -> dict[str, Any]:
    pools = [{"pool": "h100", "devices": devices, "perNode": 8}]
    claim = {"cluster": "lab", "name": "gpu", "pools": pools}
    workload = {"cluster": "lab", "name": "train", "word": word, "copies": copies, "pools": pools}
    return {"claims": [claim], "workloads": [workload]}


def shown(allocated: int = 4, devices: int = 16, name: str = "train") -> dict[str, Any]:
    pools = {"h100": {"nodes": 2, "devices": devices}}
    return {"lab": {"pools": pools, "workloads": {name: {"allocated": allocated}}}}


@pytest.mark.parametrize(("word", "allocated"), [("guaranteed", 4), ("never", 3), ("possible", 2)])
def test_they_agree(word: str, allocated: int) -> None:
    assert disagreements(proof(word), shown(allocated)) == []


@pytest.mark.parametrize(
    ("word", "allocated", "output"),
    [
        ("guaranteed", 3, "lab/train: guaranteed for 4 copies, and 3 hold devices"),
        ("never", 4, "lab/train: never for 4 copies, and 4 hold devices"),
    ],
)
def test_a_verdict_that_is_wrong_is_found(word: str, allocated: int, output: str) -> None:
    assert disagreements(proof(word), shown(allocated)) == [output]


def test_other_devices_than_predicted_are_found() -> None:
    assert disagreements(proof(), shown(devices=15)) == [
        "lab/h100: 16 devices predicted, and 15 are published"
    ]


def test_a_workload_that_only_one_of_them_has_is_found() -> None:
    assert disagreements(proof(), shown(name="other")) == [
        "lab/train: was proved and does not run",
        "lab/other: was not proved",
    ]
