import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path

import pytest

from dra_fleet.rehearsal.simulator.controlplane import supervisor as module
from dra_fleet.rehearsal.simulator.controlplane.components import Command
from dra_fleet.rehearsal.simulator.controlplane.supervisor import ComponentPlace, Supervisor
from dra_fleet.rehearsal.simulator.errors import ToolsMissingError
from dra_fleet.rehearsal.simulator.processes import ProcessId, stop_processes
from dra_fleet.rehearsal.simulator.store import ClusterRecord, Store

KEY = ("lab", "sleeper")
SLEEP = Command(arguments=("/bin/sleep", "600"), environment={})


@pytest.fixture(autouse=True)
def _short_backoff(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr(module, "FIRST_BACKOFF", 0.01)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "db") as opened:
        opened.add(ClusterRecord(name="lab", version="v1.36.3", hardware={}, port=None, phase="creating"))
        yield opened
        stop_processes(opened.processes().values(), grace=1)


def supervise(store: Store, tmp_path: Path, prepare: Callable[[], Command]) -> Supervisor:
    place = ComponentPlace(
        cluster="lab", component="sleeper", directory=tmp_path, log=tmp_path / "logs" / "sleeper.log"
    )
    return Supervisor(place, store, prepare)


@contextlib.asynccontextmanager
async def running(supervisor: Supervisor) -> AsyncGenerator[None]:
    task = asyncio.create_task(supervisor.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not reached():  # noqa: ASYNC110 - a test's own deadline
            await asyncio.sleep(0.01)


def test_a_component_that_is_killed_is_started_again(store: Store, tmp_path: Path) -> None:
    supervisor = supervise(store, tmp_path, lambda: SLEEP)

    async def scenario() -> None:
        async with running(supervisor):
            await until(lambda: supervisor.process is not None)
            first = store.processes()[KEY]
            os.kill(first.pid, signal.SIGKILL)
            await until(lambda: store.processes().get(KEY, first) != first)

    asyncio.run(scenario())
    assert store.processes()[KEY].running()
    assert supervisor.ends == 1
    assert supervisor.last_end
    assert supervisor.last_end.startswith("ended with exit code -9; its log ")


def test_the_next_simulator_adopts_what_runs(store: Store, tmp_path: Path) -> None:
    async def scenario() -> None:
        first, second = (supervise(store, tmp_path, lambda: SLEEP) for _ in range(2))
        async with running(first):
            await until(lambda: first.process is not None)
        async with running(second):
            await until(lambda: second.process is not None)
            assert second.process == first.process
        assert second.ends == 0

    asyncio.run(scenario())


def test_a_pid_that_belongs_to_another_program_by_now_is_not_adopted(store: Store, tmp_path: Path) -> None:
    me = ProcessId.of(os.getpid())
    assert me
    store.set_process(*KEY, ProcessId(pid=me.pid, created=me.created - 100))
    supervisor = supervise(store, tmp_path, lambda: SLEEP)

    async def scenario() -> None:
        async with running(supervisor):
            await until(lambda: supervisor.process is not None)

    asyncio.run(scenario())
    assert store.processes()[KEY].pid != me.pid


def test_nothing_runs_that_is_not_recorded(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    witness = tmp_path / "witness"
    command = Command(arguments=("/usr/bin/touch", str(witness)), environment={})
    supervisor = supervise(store, tmp_path, lambda: command)

    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(store, "set_process", full)

    async def scenario() -> None:
        async with running(supervisor):
            await until(lambda: supervisor.ends >= 2)

    asyncio.run(scenario())
    assert supervisor.last_end == "cannot be started: disk full"
    assert not witness.exists()


def test_a_component_that_does_not_start_ends_with_its_last_words(store: Store, tmp_path: Path) -> None:
    command = Command(arguments=("/bin/sh", "-c", "echo cannot listen >&2; exit 7"), environment={})
    supervisor = supervise(store, tmp_path, lambda: command)

    async def scenario() -> None:
        async with running(supervisor):
            await until(lambda: supervisor.ends >= 3)

    asyncio.run(scenario())
    log = tmp_path / "logs" / "sleeper.log"
    assert supervisor.last_end == f"ended with exit code 7; its log {log} ends:\ncannot listen"


def test_missing_tools_are_tried_again(store: Store, tmp_path: Path) -> None:
    answers = iter([ToolsMissingError("kwok is not there")])

    def prepare() -> Command:
        for problem in answers:
            raise problem
        return SLEEP

    supervisor = supervise(store, tmp_path, prepare)

    async def scenario() -> None:
        async with running(supervisor):
            await until(lambda: supervisor.process is not None)

    asyncio.run(scenario())
    assert supervisor.last_end == "cannot be started: kwok is not there"
