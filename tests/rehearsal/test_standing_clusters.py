import asyncio
from pathlib import Path
from typing import Any, Self

import pytest

from dra_fleet.rehearsal import engine_run as timings_module
from dra_fleet.rehearsal import standing
from dra_fleet.rehearsal.engine_run import Timed
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.reporting import Silent
from dra_fleet.rehearsal.simulator.hardware_file import Hardware

THREE = Hardware.parse(
    {"clusters": {"lab": {"kubernetes": "v1.36.3", "nodes": [{"name": "n", "count": 3}]}}}, "test"
)


class Joining:
    """A cluster in which one more machine has joined each time someone looks, up to a number."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._there = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def list(self, api_version: str, kind: str) -> dict[str, Any]:
        assert (api_version, kind) == ("v1", "Node")
        self._there = min(self._there + 1, self._most)
        return {"items": [{"metadata": {"name": f"n-{index}"}} for index in range(self._there)]}


class Reported:
    """Remembers what a step was reported."""

    def __init__(self) -> None:
        self.counts: list[tuple[int | None, int | None]] = []

    def update(self, detail: str, *, done: int | None = None, total: int | None = None) -> None:
        assert detail == "joined"
        self.counts.append((done, total))


def counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cluster: Joining
) -> list[tuple[int | None, int | None]]:
    def connected(*_: object) -> Joining:
        return cluster

    monkeypatch.setattr(standing, "connect", connected)
    monkeypatch.setattr(standing, "POLL_SECONDS", 0.0)
    step = Reported()
    asyncio.run(standing.machines_joined(Home.at(tmp_path), THREE, ["lab"], step))
    return step.counts


def test_the_run_continues_once_all_machines_have_joined(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert counts(monkeypatch, tmp_path, Joining(3)) == [(1, 3), (2, 3), (3, 3)]


def test_machines_that_never_join_are_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(standing, "JOINED_WITHIN", 0.05)
    assert counts(monkeypatch, tmp_path, Joining(1))[-1] == (1, 3)


class Clock:
    """Stands for the module `time`."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    moved = Clock()
    monkeypatch.setattr(timings_module, "time", moved)
    return moved


def test_each_part_has_its_seconds_and_its_share_and_the_rest_is_reported(clock: Clock) -> None:
    timed = Timed(Silent())
    with timed.part("plan"):
        clock.now += 1
    with timed.step("simulator"):
        clock.now += 6
    clock.now += 3
    assert [item.as_json() for item in timed.timings()] == [
        {"part": "plan", "seconds": 1.0, "share": 0.1},
        {"part": "simulator", "seconds": 6.0, "share": 0.6},
        {"part": "the rest", "seconds": 3.0, "share": 0.3},
    ]


def test_a_part_that_is_split_adds_up_to_what_it_took(clock: Clock) -> None:
    timed = Timed(Silent())
    with timed.part("pulumi up"):
        clock.now += 10
    timed.split("pulumi up", {"until the first resource": 4.0, "resources": 5.0})
    assert [(item.part, item.seconds) for item in timed.timings()] == [
        ("pulumi up: until the first resource", 4.0),
        ("pulumi up: resources", 5.0),
        ("pulumi up: else", 1.0),
        ("the rest", 0.0),
    ]
