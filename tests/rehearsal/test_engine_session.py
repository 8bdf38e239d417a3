import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from dra_fleet.rehearsal import engine_run
from dra_fleet.rehearsal.simulator.processes import ProcessId

LEADER = """
import subprocess, sys, time
child = subprocess.Popen(["sleep", "600"])
print(child.pid, flush=True)
time.sleep(600)
"""


@contextmanager
def session() -> Generator[tuple[ProcessId, ProcessId]]:
    """A session of two processes: the leader, and a child that outlives it."""
    command = [sys.executable, "-c", LEADER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as leader:
        assert leader.stdout
        number = int(leader.stdout.readline())
        found = ProcessId.of(leader.pid), ProcessId.of(number)
        assert found[0]
        assert found[1]
        try:
            yield found[0], found[1]
        finally:
            for process in (found[1], found[0]):
                if left := process.running():
                    left.kill()


@pytest.mark.slow
def test_the_engine_and_what_it_started_are_stopped(tmp_path: Path) -> None:
    record = tmp_path / "engine.session"
    with session() as (leader, child):
        leader.write(record)
        engine_run.stop_left(record)
        assert not leader.running()
        assert not child.running()
    assert not record.exists()


@pytest.mark.slow
def test_processes_of_a_killed_engine_are_stopped(tmp_path: Path) -> None:
    record = tmp_path / "engine.session"
    with session() as (leader, child):
        leader.write(record)
        os.kill(leader.pid, signal.SIGKILL)
        engine_run.stop_left(record)
        assert not child.running()


def test_a_session_that_was_given_the_same_number_later_is_left_alone(tmp_path: Path) -> None:
    record = tmp_path / "engine.session"
    with session() as (leader, child):
        ProcessId(pid=leader.pid, created=leader.created - 100).write(record)
        engine_run.stop_left(record)
        assert leader.running()
        assert child.running()
    assert not record.exists()


def test_a_session_of_before_the_last_start_of_the_machine_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "engine.session"
    with session() as (leader, child):
        leader.write(record)
        os.kill(leader.pid, signal.SIGKILL)
        monkeypatch.setattr(psutil, "boot_time", lambda: leader.created + 100)
        engine_run.stop_left(record)
        assert child.running()


def test_without_a_record_nothing_is_stopped(tmp_path: Path) -> None:
    engine_run.stop_left(tmp_path / "engine.session")


def test_an_engine_that_cannot_be_recorded_does_not_run(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    with (tmp_path / "output.txt").open("w") as output, pytest.raises(FileNotFoundError):
        engine_run.start(
            ["sh", "-c", f"sleep 2; touch {witness}"],
            directory=tmp_path,
            environment=dict(os.environ),
            output=output,
            record=tmp_path / "nowhere" / "engine.session",
        )
    mine = psutil.Process().children(recursive=True)
    assert [child.pid for child in mine if str(witness) in " ".join(child.cmdline())] == []
