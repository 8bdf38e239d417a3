"""Keep the server that forks a rehearsal's simulated plugins, see `fork_server.py`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from dra_fleet.core.places import ROOT
from dra_fleet.rehearsal.environment import compiled_modules
from dra_fleet.rehearsal.passed_on import passed_on
from dra_fleet.rehearsal.providers.installing import SOCKET

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

SERVER: Final = "dra_fleet.rehearsal.providers.fork_server"
END_WITHIN: Final = 10.0
"""Seconds for the server, once the engine has ended; longer than it gives its plugins."""


@contextmanager
def fork_server(pulumi_home: Path, log: Path) -> Generator[int | None]:
    """Keep a server for the plugins of an engine's home, and report its pid; None where the system has none.

    It ends with the caller, also with one that is killed.

    Args:
        pulumi_home: the engine's PULUMI_HOME.
        log: gets what the server has to say of a defect.

    Raises:
        OSError: the server cannot be started, or the log not be written.
    """
    if sys.platform != "linux":
        yield None
        return
    given = passed_on()
    found = filter(None, (str(ROOT), given.get("PYTHONPATH")))  # as the launcher has it
    variables = {**given, **compiled_modules(), "PYTHONPATH": os.pathsep.join(found)}
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as words:
        server = subprocess.Popen(
            (sys.executable, "-P", "-m", SERVER, str(pulumi_home / SOCKET)),
            stdin=subprocess.PIPE,
            stdout=words,
            stderr=words,
            env=variables,
            start_new_session=True,  # what is typed at the terminal is for the caller, who ends the engine
        )
    try:
        yield server.pid
    finally:
        if server.stdin:
            server.stdin.close()
        try:
            server.wait(timeout=END_WITHIN)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
