"""The engine and everything it starts, as one session of processes that can be stopped as a whole.

Language hosts, plugins and policy packs outlive an engine that is killed. Each run gets a session of its own,
whose number is recorded, so that what is left of it is found again and nothing else is.
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import psutil

from dra_fleet.core.interrupts import heeding_interrupts
from dra_fleet.rehearsal.world.processes import CREATION_TOLERANCE, ProcessId, stop_processes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import TextIO

GRACE_SECONDS = 5.0


def start(
    command: Sequence[str], *, directory: Path, environment: Mapping[str, str], output: TextIO, record: Path
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own and record which one; what cannot be recorded does not run.

    Args:
        command: program and arguments.
        directory: where it runs.
        environment: all its variables.
        output: gets what it prints.
        record: the file that remembers the session.

    Raises:
        OSError: the program cannot be started, or the record not be written.
    """
    with heeding_interrupts():
        process = subprocess.Popen(
            list(command),
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        ProcessId(pid=process.pid, created=psutil.Process(process.pid).create_time()).write(record)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return process


def stop_left(record: Path) -> None:
    """Stop what is left of the recorded session."""
    leader = ProcessId.read(record)
    if leader is None:
        return
    leader.signal(signal.SIGKILL)  # at once: what is under way stays in the state as pending, cleared by name
    stop_processes(_members(leader), grace=GRACE_SECONDS)
    record.unlink(missing_ok=True)


def _members(leader: ProcessId) -> list[ProcessId]:
    """Processes of the leader's session. Its number is not given out again while a member lives."""
    successor = ProcessId.of(leader.pid)
    if successor and abs(successor.created - leader.created) >= CREATION_TOLERANCE:
        return []  # the number was given out again
    if leader.created < psutil.boot_time() - CREATION_TOLERANCE:
        return []  # the machine was started anew, and the number may be that of any session since
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
