"""`dra-fleet drift` on the real engine and a real API server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.home import Home

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine

DRIFT = "dra-fleet drift variation --json"
CLASS = ("resource.k8s.io/v1", "DeviceClass", "at-least-20g")
EVERY_GPU: dict[str, Any] = {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]}


async def read_class(home: Home) -> dict[str, Any]:
    async with connect(home, "lab") as api:
        return await api.get(*CLASS)


async def write_class(home: Home, spec: dict[str, Any]) -> None:
    async with connect(home, "lab") as api:
        await api.replace({**await api.get(*CLASS), "spec": spec})


def test_drift_names_a_class_changed_by_hand_changes_nothing_and_can_be_undone(rehearsed: Rehearsed) -> None:
    file, home = rehearsed.stack_file(), Home.at(rehearsed.home)
    rehearsed.up(file)
    env = f'eval "$({rehearsed.command} rehearse env {file})"'
    clean = rehearsed.shell(f"{env} && {DRIFT}")
    declared = asyncio.run(read_class(home))["spec"]

    asyncio.run(write_class(home, EVERY_GPU))
    state, changed = rehearsed.state("variation"), asyncio.run(read_class(home))
    drifted = rehearsed.shell(f"{env} && {DRIFT}")

    assert (clean.code, clean.json["drift"]) == (0, []), clean.err
    assert drifted.code == 7, drifted.err
    (found,) = drifted.json["drift"]
    assert (found["cluster"], found["kind"], found["name"]) == ("lab", "class", "at-least-20g")
    assert [item["path"] for item in found["properties"]] == ["spec.selectors[0].cel.expression"]
    assert found["properties"][0]["found"] == "device.driver == 'gpu.nvidia.com'"
    assert rehearsed.state("variation") == state
    assert asyncio.run(read_class(home)) == changed

    undone = rehearsed.shell(f"{env} && {found['undo']} --yes --skip-preview --non-interactive")

    assert undone.code == 0, undone.out
    assert asyncio.run(read_class(home))["spec"] == declared
    assert rehearsed.shell(f"{env} && {DRIFT}").code == 0
