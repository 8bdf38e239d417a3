"""The console script `dra-fleet`."""

from __future__ import annotations

import signal


def run() -> None:
    """Import the commands and run them; Ctrl-C before they can answer it ends the process without a word."""
    answer = signal.getsignal(signal.SIGINT)
    if answer is signal.default_int_handler:  # not where a shell has it ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Takes a moment, in which people press Ctrl-C.
    from dra_fleet.cli.main import run as run_commands

    signal.signal(signal.SIGINT, answer)
    run_commands()
