"""Exactly the processes that were started: found again by pid and creation time, watched, stopped.

A pid alone may belong to another program by now; with its creation time it cannot.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import TYPE_CHECKING

import psutil
from msgspec import Struct

from dra_fleet.rehearsal.simulator.files import write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


CREATION_TOLERANCE = 2.0
"""Seconds. The boot time that creation times are counted from moves a little with the clock."""

POLL = 0.2
"""Seconds between looks where the system cannot report a process's end."""


class ProcessId(Struct, frozen=True, kw_only=True):
    """Unique id of a process. `created` is in seconds since the epoch."""

    pid: int
    created: float

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """Identify a running process; None where there is none."""
        try:
            return cls(pid=pid, created=psutil.Process(pid).create_time())
        except psutil.NoSuchProcess:
            return None

    @classmethod
    def read(cls, file: Path) -> ProcessId | None:
        """Read the process that `write` recorded; return None if there is no such record."""
        try:
            recorded = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return cls(pid=recorded["pid"], created=recorded["created"])

    def write(self, file: Path) -> None:
        """Record the process in a file that this user alone can read."""
        write_private(file, json.dumps({"pid": self.pid, "created": self.created}))

    def program(self) -> str | None:
        """Return the program of the process, as in its command line; None once it has ended."""
        try:
            found = self.running()
            return found.cmdline()[0] if found else None
        except (psutil.NoSuchProcess, IndexError):
            return None

    def signal(self, number: int) -> None:
        """Send a signal, if the process still runs."""
        with contextlib.suppress(psutil.NoSuchProcess):
            if process := self.running():
                process.send_signal(number)

    def running(self) -> psutil.Process | None:
        """Return the process if it still runs; a zombie does not."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.created) < CREATION_TOLERANCE
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


async def wait_gone(process: ProcessId) -> None:
    """Return once the process has ended; it need not be a child."""
    opened: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
    if opened is None:
        while process.running():  # noqa: ASYNC110 - this system has no event for another's child
            await asyncio.sleep(POLL)
        return
    try:
        descriptor = opened(process.pid)
    except ProcessLookupError:
        return
    try:
        if not process.running():  # the pid was taken over between recording and opening
            return
        await _readable(descriptor)
    finally:
        os.close(descriptor)


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)


def wait_ended(processes: Iterable[ProcessId], *, timeout: float) -> None:
    """Wait up to `timeout` seconds until processes have ended by themselves. Blocks."""
    psutil.wait_procs([found for process in processes if (found := process.running())], timeout=timeout)


def stop_processes(processes: Iterable[ProcessId], *, grace: float) -> None:
    """Ask processes to end, wait up to `grace` seconds, then kill what is left. Blocks.

    Raises:
        psutil.AccessDenied: one of them belongs to another user.
    """
    running = [found for process in processes if (found := process.running())]
    for process in running:
        _signal(process.terminate)
    _, left = psutil.wait_procs(running, timeout=grace)
    for process in left:
        _signal(process.kill)
    psutil.wait_procs(left, timeout=grace)


def _signal(send: Callable[[], None]) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        send()


async def cancel(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait until they have ended."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
