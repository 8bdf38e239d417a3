import asyncio
from pathlib import Path
from typing import Any, Self

import pytest

from dra_fleet.rehearsal import standing
from dra_fleet.rehearsal.home import Home
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
