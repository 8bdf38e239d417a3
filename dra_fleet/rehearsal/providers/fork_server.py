"""Fork simulated plugins from a process that has imported them, for as long as a `rehearse up` is at work.

A program has a provider for each cluster and the engine a process for each provider; most of what such a
process takes is Python's start and its imports. The plugins' launcher asks here first (`plugin_launcher.py`).
Linux only: elsewhere a process that has loaded the system's libraries must not fork.

Run as `python -m dra_fleet.rehearsal.providers.fork_server SOCKET` (`forking.py`). It listens until its
standard input ends, stays for what it forked, and never has its own thread or object of gRPC: those
do not survive a fork.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import httpx2

from dra_fleet.rehearsal.providers import clouds

if TYPE_CHECKING:
    from types import ModuleType

MODULE: Final = clouds.__name__
END_WITHIN: Final = 5.0
"""Seconds for a plugin whose launcher has ended."""


def serve_forks(listening: Path) -> None:
    """Listen on a socket; return when standard input has ended, and every forked plugin too.

    Raises:
        OSError: the socket cannot be made, or this is not Linux.
    """
    if sys.platform != "linux":
        raise OSError("plugins are forked on Linux alone")
    running: dict[int, int] = {}
    with socket.socket(socket.AF_UNIX) as listener:
        _listen(listener, listening)
        plugin = importlib.import_module(f"{MODULE}.__main__")
        asyncio.run(_load_the_rest())
        gc.freeze()  # collections in forked processes leave shared memory alone
        while sys.stdin not in (ready := select.select([listener, sys.stdin, *running], [], [])[0]):
            for ended in running.keys() & ready:
                os.waitpid(running.pop(ended), 0)
                os.close(ended)
            if listener in ready:
                asking, _ = listener.accept()
                with asking:
                    if not (child := os.fork()):
                        listener.close()
                        _plugin(asking, plugin)
                    running[os.pidfd_open(child)] = child
        listening.unlink(missing_ok=True)
    for child in running.values():
        os.waitpid(child, 0)


async def _load_the_rest() -> None:
    """Import what plugins import at their first request: one that no one answers."""
    transport = httpx2.AsyncHTTPTransport(uds="absent.sock", verify=False)
    async with httpx2.AsyncClient(transport=transport, trust_env=False) as client:
        with suppress(httpx2.ConnectError):
            await client.get("http://absent")


def _listen(listener: socket.socket, listening: Path) -> None:
    os.chdir(listening.parent)  # the path may be longer than the kernel takes
    listening.unlink(missing_ok=True)
    mask = os.umask(0o177)
    listener.bind(listening.name)
    os.umask(mask)
    listener.listen(socket.SOMAXCONN)


def _plugin(asking: socket.socket, plugin: ModuleType) -> NoReturn:
    """Be the plugin that a launcher requests, in a separate process."""
    code = 1
    try:
        _, streams, _, _ = socket.recv_fds(asking, 1, 2)
        with asking.makefile("rb") as lines:
            request: dict[str, Any] = json.loads(lines.readline())
        python, module, *arguments = request["command"]
        path = request["environment"]["PYTHONPATH"]
        if [python, path] == [sys.executable, os.environ["PYTHONPATH"]] and module == MODULE:
            _become(request, streams)
            asking.send(b"\0")
            threading.Thread(target=_end_with, args=(asking,), daemon=True).start()
            plugin.main(arguments)
            asking.send(b"\0")
        code = 0
    except BrokenPipeError:
        code = 0  # the launcher was killed
    except BaseException:  # noqa: BLE001 - what a separate process would print as it ends
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _become(request: dict[str, Any], streams: list[int]) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    for descriptor, place in zip([null, *streams], range(3), strict=True):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])


def _end_with(launcher: socket.socket) -> None:
    """Make this process end after the launcher."""
    with suppress(OSError):
        launcher.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_WITHIN)
    os._exit(1)


if __name__ == "__main__":
    serve_forks(Path(sys.argv[1]))
