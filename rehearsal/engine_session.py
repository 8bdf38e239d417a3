"""The engine and everything it starts, as one session of processes that can be stopped as a whole.

Language hosts, plugins and policy packs outlive an engine that is killed. Each run gets a session of its own,
whose number is recorded, so that what is left of it is found again and nothing else is.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import psutil

from rehearsal.world.files import write_private
from rehearsal.world.processes import CREATION_TOLERANCE, ProcessId, stop_processes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import TextIO

GRACE_SECONDS = 5.0


def start(
    command: Sequence[str], *, directory: Path, environment: Mapping[str, str], output: TextIO, record: Path
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own and record which one.

    Args:
        command: program and arguments.
        directory: where it runs.
        environment: all its variables.
        output: gets what it prints.
        record: the file that remembers the session.
    """
    process = subprocess.Popen(
        list(command),
        cwd=directory,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    write_private(
        record, json.dumps({"pid": process.pid, "created": psutil.Process(process.pid).create_time()})
    )
    return process


def stop_left(record: Path) -> int:
    """Stop what is left of the recorded session; returns how many processes that were."""
    try:
        recorded = json.loads(record.read_text())
    except FileNotFoundError:
        return 0
    leader = ProcessId(pid=recorded["pid"], created=recorded["created"])
    left = _members(leader)
    if engine := leader.running():
        engine.kill()  # at once: what is under way then stays in the state as pending, and is cleared by name
    stop_processes(left, grace=GRACE_SECONDS)
    record.unlink(missing_ok=True)
    return len(left)


def _members(leader: ProcessId) -> list[ProcessId]:
    """Processes of the leader's session. Its number is not given out again while a member lives."""
    found: list[ProcessId] = []
    for pid in psutil.pids():
        try:
            session = os.getsid(pid)
        except (ProcessLookupError, PermissionError):
            continue
        member = ProcessId.of(pid) if session == leader.pid else None
        if member and member.created >= leader.created - CREATION_TOLERANCE:
            found.append(member)
    return found
