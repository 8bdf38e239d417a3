"""The console script `dra-fleet`."""

from __future__ import annotations

import os
import signal
import sys


def run() -> None:
    """Import the commands and run them; Ctrl-C before they can answer it ends the process without a word."""
    if "gate" in sys.argv[1:2] and "PYTHONPATH" in os.environ and not sys.flags.isolated:
        # The judged program's own path, which would come before the pack's.
        os.execv(sys.executable, [sys.executable, "-I", *sys.argv])  # noqa: S606 - no shell is wanted
    answer = signal.getsignal(signal.SIGINT)
    if answer is signal.default_int_handler:  # not where a shell has it ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Takes a moment, in which people press Ctrl-C.
    from dra_fleet.cli.main import run as run_commands

    signal.signal(signal.SIGINT, answer)
    run_commands()
