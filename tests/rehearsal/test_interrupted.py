from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import psutil
import pytest

from rehearsal.interrupted import StackBusyError, clear_stale_lock

if TYPE_CHECKING:
    from pathlib import Path


def lock(backend: Path, text: str, stack: str = "dev") -> Path:
    directory = backend / ".pulumi" / "locks" / "organization" / "dra-fleet" / stack
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "0b1c.json"
    file.write_text(text)
    return file


def holder(pid: int, taken: datetime) -> str:
    """What the engine writes: https://github.com/pulumi/pulumi/blob/master/pkg/backend/diy/lock.go."""
    return json.dumps({"pid": pid, "username": "x", "hostname": "y", "timestamp": taken.isoformat()})


def test_without_a_lock_nothing_was_interrupted(tmp_path: Path) -> None:
    assert clear_stale_lock(tmp_path, "dev") is False


def test_the_lock_of_a_living_run_is_respected(tmp_path: Path) -> None:
    taken = datetime.now(UTC)
    file = lock(tmp_path, holder(os.getpid(), taken))
    with pytest.raises(StackBusyError) as busy:
        clear_stale_lock(tmp_path, "dev")
    assert str(busy.value) == (
        f"stack dev is being updated by process {os.getpid()} since {taken.isoformat()}; "
        "wait for it, or stop that process and try again"
    )
    assert file.exists()


def test_the_lock_of_an_ended_run_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    file = lock(tmp_path, holder(ended.pid, datetime.now(UTC)))
    assert clear_stale_lock(tmp_path, "dev") is True
    assert not file.exists()


def test_a_process_that_got_the_number_later_does_not_hold_the_lock(tmp_path: Path) -> None:
    started = datetime.fromtimestamp(psutil.Process().create_time(), UTC)
    lock(tmp_path, holder(os.getpid(), started - timedelta(minutes=1)))
    assert clear_stale_lock(tmp_path, "dev") is True


@pytest.mark.parametrize("text", ["", '{"pid": 1', '{"pid": 1}'])
def test_a_lock_that_was_cut_off_while_it_was_written_is_removed(tmp_path: Path, text: str) -> None:
    lock(tmp_path, text)
    assert clear_stale_lock(tmp_path, "dev") is True


def test_the_lock_of_another_stack_is_left_alone(tmp_path: Path) -> None:
    file = lock(tmp_path, "", stack="prod")
    assert clear_stale_lock(tmp_path, "dev") is False
    assert file.exists()
