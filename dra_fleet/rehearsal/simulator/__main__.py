"""`python -m dra_fleet.rehearsal.simulator --home DIR`: run the simulator of one home until it is shut down.

SIGTERM and SIGINT end the simulator alone: its control planes go on and the next simulator adopts them. With
a home that is deleted all that runs for it ends: no simulator would find that again.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web
from filelock import FileLock, Timeout

from dra_fleet.rehearsal.clouds.clusters import SimulatorControlPlanes
from dra_fleet.rehearsal.clouds.simulation import SimulatedClouds
from dra_fleet.rehearsal.home import Home, HomeUnusableError
from dra_fleet.rehearsal.registry.server import Registry
from dra_fleet.rehearsal.simulator.autoscaler import Autoscaler
from dra_fleet.rehearsal.simulator.client import code_digest
from dra_fleet.rehearsal.simulator.cloud_api import serve_apis
from dra_fleet.rehearsal.simulator.errors import ALREADY_RUNNING, SimulatorError
from dra_fleet.rehearsal.simulator.files import deleted
from dra_fleet.rehearsal.simulator.processes import ProcessId, cancel
from dra_fleet.rehearsal.simulator.server import application
from dra_fleet.rehearsal.simulator.simulator import Simulator
from dra_fleet.rehearsal.simulator.store import Store

if TYPE_CHECKING:
    from collections.abc import Awaitable

LOG_BYTES = 5_000_000
DELETED_POLL = 2.0
"""Seconds between looks whether a file is still there."""


def main() -> int:
    """Run until shut down; the exit code says how it ended."""
    parser = argparse.ArgumentParser(prog="python -m dra_fleet.rehearsal.simulator", description=__doc__)
    parser.add_argument("--home", required=True, type=Path, help="the rehearsal's directory")
    home = Home.at(parser.parse_args().home)
    try:
        home.create()
    except HomeUnusableError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the simulator's standard error is its starter's
        return 1
    try:
        with FileLock(home.lock, timeout=0, mode=0o600):
            return _run(home)
    except Timeout:
        print(f"another simulator already runs on {home.root}", file=sys.stderr)  # noqa: T201
        return ALREADY_RUNNING


def _run(home: Home) -> int:
    _log_to(home.log)
    os.umask(0o077)
    try:
        asyncio.run(_serve(home))
    except SimulatorError as error:
        logging.error("the simulator ended: %s", error)  # noqa: LOG015, TRY400 - the message says all
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    except Exception:
        logging.exception("the simulator ended")  # noqa: LOG015
        raise
    return 0


async def _serve(home: Home) -> None:
    code = code_digest()
    me = ProcessId.of(os.getpid())
    if me is None:
        raise RuntimeError("this process is not among the system's processes")
    me.write(home.pid_file)
    lock = home.lock.stat()
    done, leave = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, leave.set)
    with Store(home.database) as store, _listen(home.socket) as listener:
        simulator = Simulator(home, store)
        await simulator.resume()
        clouds = SimulatedClouds(store, SimulatorControlPlanes(simulator, home))
        autoscaler = Autoscaler(simulator, clouds)
        api = application(simulator, clouds, home, done, code=code, added=autoscaler.added)
        runner = web.AppRunner(api, access_log=None, shutdown_timeout=2.0)
        await runner.setup()
        registry = Registry(home)
        await registry.start()
        apis = await serve_apis(home, clouds)
        await web.SockSite(runner, listener).start()
        scaling = asyncio.create_task(autoscaler.run(), name="autoscaler")
        await _first(done.wait(), leave.wait(), _wait_deleted(home.lock, lock))
        await cancel([scaling])
        await registry.stop()
        await apis.cleanup()
        await runner.cleanup()
        if deleted(home.lock, lock):
            logging.warning("%s was deleted; what runs for it ends", home.root)  # noqa: LOG015
            await simulator.abandon()
            return
        await simulator.detach()
    home.socket.unlink(missing_ok=True)
    home.pid_file.unlink(missing_ok=True)


async def _wait_deleted(path: Path, lock: os.stat_result) -> None:
    while not deleted(path, lock):  # noqa: ASYNC110 - no system reports this of every disk
        await asyncio.sleep(DELETED_POLL)


async def _first(*ends: Awaitable[object]) -> None:
    waiting = [asyncio.ensure_future(end) for end in ends]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for waiter in waiting:
        waiter.cancel()


def _listen(path: Path) -> contextlib.closing[socket.socket]:
    # We hold the home's lock, so a socket that is there was left by a simulator that was killed.
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(0o600)
    return contextlib.closing(listener)


def _log_to(path: Path) -> None:
    handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1)
    path.chmod(0o600)
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
        handlers=[handler],
    )
    logging.getLogger("httpx2").setLevel(logging.WARNING)


if __name__ == "__main__":
    sys.exit(main())
