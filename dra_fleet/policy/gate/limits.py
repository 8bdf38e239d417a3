"""Time limits of the gate, and the end of every process that it started."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dra_fleet.policy.gate.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

SECONDS: Final = 1800
"""Default limit of a whole gate."""
ANSWER_SECONDS: Final = 120
"""Default limit of one answer of the pack to the engine."""
_GRACE: Final = 10
"""Seconds in which an engine ends its plugins; then the gate kills what is left."""
_PROCESSES: Final = Path("/proc")


@contextmanager
def time_limit(seconds: float) -> Generator[None]:
    """Raise an error when the time is up, whatever the main thread waits for.

    Args:
        seconds: the limit, more than 0.

    Raises:
        GateError: The block did not end within the limit.
    """

    def expired(*_: object) -> None:
        raise GateError(
            f"the gate did not end within {seconds:g} s; fix: find out what hangs (the program, the engine, "
            "the pack or a custom rule), or raise the limit with --timeout"
        )

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def end_session(leader: subprocess.Popen[str]) -> None:
    """End the leader of a session, and kill every process that the session still has.

    Args:
        leader: started with `start_new_session`; it gets the time to end its own children.
    """
    if leader.poll() is None:
        leader.terminate()
        with suppress(subprocess.TimeoutExpired):
            leader.wait(_GRACE)
    for pid in _members(leader.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    leader.wait()


def _members(session: int) -> Iterator[int]:
    for pid in _pids():
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) == session:
                yield pid


def _pids() -> list[int]:
    if _PROCESSES.is_dir():
        return [int(entry.name) for entry in _PROCESSES.iterdir() if entry.name.isdecimal()]
    listed = subprocess.run(
        ["/bin/ps", "-A", "-o", "pid="], capture_output=True, text=True, check=True, timeout=_GRACE
    )
    return [int(pid) for pid in listed.stdout.split()]
