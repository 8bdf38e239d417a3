"""Be a simulated plugin for the engine: one that a running rehearsal forks, otherwise a separate process.

The engine starts this and ends it; the forked plugin writes to the same output, and neither outlives the
other. Run as a file, without a site: `plugin_launcher.py ROOT SOCKET MODULE ARGUMENT...`.
Standard library only.
"""

from __future__ import annotations

import array
import json
import os
import select
import signal
import socket
import sys

CUT_OFF = 1
"""The exit code where a forked plugin ended without saying how."""


def main(root: str, listening: str, module: str, *arguments: str) -> None:
    """Run a plugin's module until it ends.

    Args:
        root: the folder that its packages are imported from.
        listening: the socket of the fork server, which need not be there.
        module: the plugin's.
        arguments: its own.
    """
    found = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{root}{os.pathsep}{found}" if found else root
    with socket.socket(socket.AF_UNIX) as server:
        if _reached(server, listening) and _taken(server, [sys.executable, module, *arguments]):
            sys.exit(_ended(server))
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])  # noqa: S606 - this very plugin


def _reached(server: socket.socket, listening: str) -> bool:
    """Connect by the file's name alone: the path of a home may be longer than the kernel takes."""
    folder, name = os.path.split(listening)
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(folder)
        server.connect(name)
    except OSError:
        return False
    finally:
        os.fchdir(here)
        os.close(here)
    return True


def _taken(server: socket.socket, command: list[str]) -> bool:
    directory = os.getcwd()  # noqa: PTH109 - importing paths takes as long as all else here
    request = json.dumps({"command": command, "directory": directory, "environment": dict(os.environ)})
    streams = array.array("i", [sys.stdout.fileno(), sys.stderr.fileno()])
    try:
        server.sendmsg([b"\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
        server.sendall(request.encode("utf-8", "surrogateescape") + b"\n")
        return server.recv(1) != b""
    except OSError:
        return False


def _ended(server: socket.socket) -> int:
    """Wait for the plugin's end, or the engine's; a signal ends this process, and the plugin sees that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    watched: list[socket.socket | int] = [server]
    if sys.platform == "linux":  # which alone has the server
        try:
            watched.append(os.pidfd_open(os.getppid()))
        except ProcessLookupError:
            return 0
    if server not in select.select(watched, [], [])[0]:
        return 0
    try:
        return 0 if server.recv(1) else CUT_OFF
    except ConnectionResetError:
        return CUT_OFF


if __name__ == "__main__":
    main(*sys.argv[1:])
