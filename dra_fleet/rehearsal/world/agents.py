"""Runs one cluster's simulated agent (hardware, kubelets, driver plugins), again and again if it fails."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dra_fleet.clusters.client import KubeApi
    from dra_fleet.rehearsal.world.hardware import ClusterHardware
    from dra_fleet.rehearsal.world.served_by import OwnPlace


FIRST_BACKOFF = 1.0
LONGEST_BACKOFF = 30.0
STOP_WITHIN = 1.0
"""Seconds until an agent that was asked to end is cancelled; it must bear a kill anyway."""

logger = logging.getLogger(__name__)


class SupervisedAgent:
    """One cluster's agent.

    Args:
        hardware: the cluster's machines.
        kubeconfig: the administrator's.
        connect: gives a connection as the administrator.
        own: where drivers' own programs run.
    """

    def __init__(
        self, hardware: ClusterHardware, kubeconfig: Path, connect: Callable[[], KubeApi], own: OwnPlace
    ) -> None:
        self.problem: str | None = None
        self._cluster = own.cluster
        self._own = own
        self._hardware = hardware
        self._kubeconfig = kubeconfig
        self._connect = connect
        self._stop = asyncio.Event()
        self._changes: asyncio.Queue[ClusterHardware] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether the agent is at work now."""
        return self._task is not None and not self._task.done() and self.problem is None

    def set_hardware(self, hardware: ClusterHardware) -> None:
        """Tell the agent which machines there are now."""
        self._hardware = hardware
        self._changes.put_nowait(hardware)

    def start(self) -> None:
        """Start the agent unless it runs."""
        if self._task is None or self._task.done():
            self._stop = asyncio.Event()
            self._task = asyncio.create_task(self._run(), name=f"{self._cluster}/agent")

    async def stop(self) -> None:
        """Ask the agent to end; cancel it when it does not."""
        task, self._task = self._task, None
        if task is None:
            return
        self._stop.set()
        _, late = await asyncio.wait([task], timeout=STOP_WITHIN)
        for pending in late:
            pending.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def restart(self) -> None:
        """Start the agent anew, such as after the API server moved."""
        await self.stop()
        self.start()

    async def _run(self) -> None:
        backoff = FIRST_BACKOFF
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                await self._run_once()
            except Exception as error:
                if time.monotonic() - began > LONGEST_BACKOFF:
                    backoff = FIRST_BACKOFF  # what happened before it worked for a while is forgotten
                logger.exception("%s: the agent failed; it starts again in %.0f s", self._cluster, backoff)
                self.problem = f"{type(error).__name__}: {error}"
                await self._pause(backoff)
                backoff = min(backoff * 2, LONGEST_BACKOFF)

    async def _run_once(self) -> None:
        from dra_fleet.rehearsal.agent.agent import run  # noqa: PLC0415 - the agent is only needed once a cluster runs

        async with self._connect() as admin:
            self.problem = None
            self._changes = asyncio.Queue()
            await run(admin, self._kubeconfig, self._hardware, self._stop, self._own, changes=self._changes)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        except TimeoutError:
            return
