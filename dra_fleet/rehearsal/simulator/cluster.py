"""Simulated cluster of a running simulator: its control plane, its agent and its state."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, Literal

from dra_fleet.rehearsal.simulator.cloud_api import api_address
from dra_fleet.rehearsal.simulator.controlplane.components import Layout
from dra_fleet.rehearsal.simulator.controlplane.plane import ControlPlane
from dra_fleet.rehearsal.simulator.controlplane.version import FullVersion
from dra_fleet.rehearsal.simulator.errors import ClusterNotReadyError, ConflictError, SimulatorError
from dra_fleet.rehearsal.simulator.files import remove_tree
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware
from dra_fleet.rehearsal.simulator.processes import cancel
from dra_fleet.rehearsal.simulator.served_by import OwnPlace, ServedBy
from dra_fleet.rehearsal.simulator.toolpaths import ToolPaths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dra_fleet.clusters.client import KubeApi
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.simulator.store import ClusterRecord, Store


FIRST_BACKOFF = 1.0

LONGEST_BACKOFF = 30.0

STOP_WITHIN = 1.0
"""Seconds until an agent that was asked to end is cancelled; it must bear a kill anyway."""

logger = logging.getLogger(__name__)


class SupervisedAgent:
    """Agent of one cluster.

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
        """True if the agent is running."""
        return self._task is not None and not self._task.done() and self.problem is None

    def set_hardware(self, hardware: ClusterHardware) -> None:
        """Give the agent the current machines."""
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
        """Start the agent again, such as after the API server moved."""
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
                logger.exception(
                    "%s: the agent failed; it starts again in %.0f s",
                    self._cluster,
                    backoff,
                )
                self.problem = f"{type(error).__name__}: {error}"
                await self._pause(backoff)
                backoff = min(backoff * 2, LONGEST_BACKOFF)

    async def _run_once(self) -> None:
        from dra_fleet.rehearsal.agent.agent import run  # noqa: PLC0415 - needed once a cluster runs

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


State = Literal["creating", "ready", "degraded", "failed", "deleting"]
"""`degraded`: it was ready and a component is being restarted.
`failed`: it did not start; the next PUT tries again."""


class Cluster:
    """A cluster the store knows. `changed` is called when its address appears, changes or disappears."""

    def __init__(self, record: ClusterRecord, home: Home, store: Store, changed: Callable[[], None]) -> None:
        self.name = record.name
        self.version = record.version
        self.problem: str | None = None
        self._store = store
        self._changed = changed
        self._layout = Layout(directory=home.clusters / record.name)
        self._start: asyncio.Task[None] | None = None
        self._restarting_agent: asyncio.Task[None] | None = None
        self._asked = asyncio.Event()
        if record.phase != "ahead":
            self._asked.set()
        hardware = ClusterHardware.model_validate(record.hardware)
        self.plane = ControlPlane(
            record.name,
            version=FullVersion.parse(record.version),
            gates=hardware.feature_gates,
            layout=self._layout,
            store=store,
            tools=lambda: ToolPaths.read(home),
            moved=self._moved,
        )
        self.agent = SupervisedAgent(
            hardware,
            self._layout.kubeconfig("admin"),
            self.plane.connect,
            OwnPlace(
                cluster=record.name,
                directory=self._layout.directory,
                store=store,
                server=lambda: self.plane.server,
                authority=lambda: self.authority,
                choice=lambda: ServedBy.read(home),
                cloud_api=lambda: api_address(home),
            ),
        )

    @property
    def state(self) -> State:
        """State of the cluster."""
        record = self._store.cluster(self.name)
        if record is None or record.phase == "deleting":
            return "deleting"
        if self.problem is not None:
            return "failed"
        if self._start is None or not self._start.done():
            return "creating"
        components = self.plane.supervisors.values()
        return "ready" if all(component.process for component in components) else "degraded"

    @property
    def authority(self) -> bytes | None:
        """The certificate of the cluster's authority, once there is one."""
        ca = self._layout.pki.ca
        return ca.read_bytes() if ca.exists() else None

    @property
    def asked(self) -> bool:
        """True if a user requested the cluster; before, only its control plane starts."""
        return self._asked.is_set()

    def ask(self) -> None:
        """Let a cluster that was started ahead be one as all others are."""
        self._store.set_phase(self.name, "creating")
        self._asked.set()

    def begin(self) -> asyncio.Task[None]:
        """Start the cluster unless that is under way or done; a failed start is tried again."""
        if self._start is None or (self._start.done() and self.problem is not None):
            self.problem = None
            self._start = asyncio.create_task(self._start_all(), name=f"{self.name}/start")
        return self._start

    async def ready(self) -> None:
        """Return once the cluster can be used, starting it if need be.

        Raises:
            SimulatorError: it does not start.
        """
        start = self.begin()
        await asyncio.wait([start])
        if start.cancelled():
            raise ConflictError(f"cluster {self.name!r} was removed while it was being created; try again")
        start.result()
        await self.plane.usable()

    def set_hardware(self, hardware: ClusterHardware) -> None:
        """Record which machines the cluster has now; they join and leave it soon after."""
        self._store.set_hardware(self.name, hardware.model_dump(mode="json", by_alias=True))
        self.agent.set_hardware(hardware)

    async def stop(self) -> None:
        """End everything that runs for the cluster; its data stays."""
        logger.info("%s: stopping", self.name)
        await self._let_go()
        logger.info("%s: the agent has ended", self.name)
        await self.plane.stop()
        logger.info("%s: stopped", self.name)

    async def detach(self) -> None:
        """Stop watching; the control plane continues without the simulator."""
        await self._let_go()
        self.plane.detach()

    async def abandon(self) -> None:
        """End everything, recording nothing."""
        await self._let_go()
        await self.plane.abandon()

    async def remove(self) -> None:
        """End everything and delete the cluster's data."""
        self._store.set_phase(self.name, "deleting")
        await self.stop()
        await asyncio.to_thread(remove_tree, self._layout.directory)
        self._store.remove(self.name)
        self._changed()

    def require_ready(self) -> None:
        """Check that the cluster's API can be asked.

        Raises:
            NotReadyError: it cannot now.
        """
        if self.state not in ("ready", "degraded"):
            raise ClusterNotReadyError(
                f"cluster {self.name!r} is {self.state}, not ready"
                + (
                    f": {self.problem}"
                    if self.problem
                    else "; wait for it, or see `dra-fleet rehearse status`"
                )
            )

    def summary(self) -> dict[str, Any]:
        """Return the summary of the cluster for clients."""
        return {
            "name": self.name,
            "state": self.state,
            "server": self.plane.server,
            "version": self.version,
            "problem": self.problem,
        }

    def details(self) -> dict[str, Any]:
        """Return the summary with every component's process and restarts."""
        components = {
            name: {
                "pid": supervisor.process.pid if supervisor.process else None,
                "restarts": supervisor.ends,
                "lastEnd": supervisor.last_end,
                "log": str(supervisor.place.log),
            }
            for name, supervisor in self.plane.supervisors.items()
        }
        agent = {"running": self.agent.running, "problem": self.agent.problem}
        return {**self.summary(), "components": components, "agent": agent}

    async def _start_all(self) -> None:
        try:
            await self.plane.start()
            await self._asked.wait()
            self._store.set_phase(self.name, "ready")
            self._changed()
            self.agent.start()
        except Exception as error:
            self.problem = (
                str(error) if isinstance(error, SimulatorError) else f"{type(error).__name__}: {error}"
            )
            logger.exception("%s: did not start", self.name)
            await self.plane.stop()
            raise

    def _moved(self) -> None:
        self._changed()
        if self.agent.running:
            self._restarting_agent = asyncio.create_task(self.agent.restart())

    async def _let_go(self) -> None:
        await cancel(task for task in (self._start, self._restarting_agent) if task is not None)
        await self.agent.stop()
