"""The console script `dra-fleet`."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys

ALLOCATIONS = 2_000_000
"""New objects after which Python looks for garbage. Modules, models and facts stay: looking through them at
each 700 takes 10 % of a short command (docs/adr/0009-start-up.md)."""


def run() -> None:
    """Import the commands and run them; Ctrl-C before they can answer it ends the process silently."""
    if "gate" in sys.argv[1:2] and "PYTHONPATH" in os.environ and not sys.flags.isolated:
        # The checked program's own path, which would come before the pack's.
        os.execv(sys.executable, [sys.executable, "-I", *sys.argv])  # noqa: S606 - no shell is needed
    gc.set_threshold(ALLOCATIONS)
    answer = signal.getsignal(signal.SIGINT)
    if answer is signal.default_int_handler:  # not where a shell has it ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Takes a moment, in which people press Ctrl-C.
    from dra_fleet.cli.main import run as run_commands

    signal.signal(signal.SIGINT, answer)
    ending = _Ending()
    try:
        run_commands()
        ending.code = 0
    except SystemExit as ended:
        ending.code = ended.code if isinstance(ended.code, int) else None
        raise


class _Ending:
    """Ends the process without taking its modules and objects apart, which takes a sixth of a short command.

    Threads are waited for and what else is registered for the end runs before it.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        """The process's exit code; None leaves the end to Python."""
        atexit.register(self._end)

    def _end(self) -> None:
        if self.code is None:
            return
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):  # reported before, or stderr is closed
                stream.flush()
        os._exit(self.code)
