"""Starts one cluster's control plane, keeps it running, and stops it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from typing import TYPE_CHECKING

import httpx2

from dra_fleet.clusters.client import ApiError, KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.rehearsal.simulator.controlplane.bootstrap import bootstrap, controllers_work
from dra_fleet.rehearsal.simulator.controlplane.components import (
    API_SERVER,
    CONTROLLERS,
    ETCD,
    KWOK,
    SCHEDULER,
    Components,
)
from dra_fleet.rehearsal.simulator.controlplane.ending import end_components
from dra_fleet.rehearsal.simulator.controlplane.kubeconfig import component_kubeconfig
from dra_fleet.rehearsal.simulator.controlplane.pki import USERS
from dra_fleet.rehearsal.simulator.controlplane.ports import LOOPBACK, keep_or_choose, listens
from dra_fleet.rehearsal.simulator.controlplane.supervisor import ComponentPlace, Supervisor
from dra_fleet.rehearsal.simulator.errors import ComponentFailedError
from dra_fleet.rehearsal.simulator.files import write_private

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from dra_fleet.rehearsal.simulator.controlplane.components import Command, Layout
    from dra_fleet.rehearsal.simulator.controlplane.version import FullVersion
    from dra_fleet.rehearsal.simulator.store import Store
    from dra_fleet.rehearsal.simulator.toolpaths import ToolPaths

READY_WITHIN = 120.0
"""Seconds; generous, because many control planes may start on few cores."""
POLL = 0.1
GIVE_UP_AFTER = 3
"""Ends of one component while a call waits for it."""

logger = logging.getLogger(__name__)


class ControlPlane:
    """Components of one cluster. `moved` is called when the API server's address has changed."""

    def __init__(
        self,
        name: str,
        *,
        version: FullVersion,
        gates: Sequence[str] = (),
        layout: Layout,
        store: Store,
        tools: Callable[[], ToolPaths],
        moved: Callable[[], None],
    ) -> None:
        self.name = name
        self.layout = layout
        self._version = version
        self._gates = tuple(gates)
        self._store = store
        self._tools = tools
        self._moved = moved
        self._tasks: list[asyncio.Task[None]] = []
        self.supervisors = {
            ETCD: self._supervisor(ETCD, self._prepare_etcd),
            API_SERVER: self._supervisor(API_SERVER, self._prepare_api_server),
            SCHEDULER: self._supervisor(SCHEDULER, lambda: self._components().kube_scheduler()),
            CONTROLLERS: self._supervisor(CONTROLLERS, lambda: self._components().controller_manager()),
            KWOK: self._supervisor(KWOK, lambda: self._components().kwok()),
        }

    @property
    def port(self) -> int | None:
        """The API server's port, None before one was chosen."""
        record = self._store.cluster(self.name)
        return record.port if record else None

    @property
    def server(self) -> str | None:
        """The API server's URL, None before a port was chosen."""
        return f"https://{LOOPBACK}:{self.port}" if self.port else None

    def connect(self) -> KubeApi:
        """Connect as the cluster's administrator."""
        return KubeApi.connect(read_kubeconfig(str(self.layout.kubeconfig("admin"))))

    async def start(self) -> None:
        """Start all components and adopt running ones. Return when the cluster can be used.

        Raises:
            ComponentFailedError: one does not start, or the cluster is not ready in time.
        """
        self.layout.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.layout.pki.ensure()
        if self.port:
            self._write_kubeconfigs(self.port)
        self._supervise(ETCD)
        await self._until(self._etcd_listens, "etcd listens")
        self._supervise(API_SERVER)
        await self._until(self._api_ready, "the API server is ready")
        self._supervise(CONTROLLERS, SCHEDULER)
        async with self.connect() as api:
            await self._until(lambda: bootstrap(api), "the API server takes objects")
            self._supervise(KWOK)
            await self._until(lambda: controllers_work(api), "the controllers work")

    async def usable(self) -> None:
        """Return once a started cluster's components run and its API server answers.

        They may not at the moment, because one of them is being restarted.

        Raises:
            ComponentFailedError: they do not within the time.
        """
        await self._until(self._whole, "all its components run")

    async def renew_scheduler(self) -> None:
        """End a scheduler that is not the program it would be started as now; its supervisor starts that."""
        running = self.supervisors[SCHEDULER].process
        program = self._components().kube_scheduler().arguments[0]
        if running and running.program() not in (None, program):
            await asyncio.to_thread(end_components, {(self.name, SCHEDULER): running})

    def detach(self) -> None:
        """Stop watching the components; they go on."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    async def stop(self) -> None:
        """End all components, those first that use others."""
        self.detach()
        processes = self._store.processes(self.name)
        await asyncio.to_thread(end_components, processes)
        for cluster, component in processes:
            self._store.clear_process(cluster, component)

    async def abandon(self) -> None:
        """End all components without the records, which are gone."""
        self.detach()
        running = {(self.name, name): found.process for name, found in self.supervisors.items()}
        known = {key: process for key, process in running.items() if process}
        await asyncio.to_thread(end_components, known)

    def _supervisor(self, component: str, prepare: Callable[[], Command]) -> Supervisor:
        place = ComponentPlace(
            cluster=self.name,
            component=component,
            directory=self.layout.directory,
            log=self.layout.log(component),
        )
        return Supervisor(place, self._store, prepare)

    def _components(self) -> Components:
        return Components(tools=self._tools(), layout=self.layout, version=self._version, gates=self._gates)

    def _supervise(self, *components: str) -> None:
        for component in components:
            name = f"{self.name}/{component}"
            self._tasks.append(asyncio.create_task(self.supervisors[component].run(), name=name))

    def _prepare_etcd(self) -> Command:
        # A socket left by a killed etcd would make the API server's first try fail and wait.
        self.layout.etcd_socket.unlink(missing_ok=True)
        return self._components().etcd()

    def _prepare_api_server(self) -> Command:
        recorded = self.port
        port = keep_or_choose(recorded)
        if port != recorded:
            self._store.set_port(self.name, port)
            self._write_kubeconfigs(port)
            if recorded is not None:
                logger.warning("%s: port %d is taken; moving to %d", self.name, recorded, port)
                self._restart_clients()
            self._moved()
        return self._components().api_server(port)

    def _restart_clients(self) -> None:
        """Components read their kubeconfig once; supervision starts them again with the new one."""
        for component in (SCHEDULER, CONTROLLERS, KWOK):
            process = self._store.processes(self.name).get((self.name, component))
            if process:
                process.signal(signal.SIGTERM)

    def _write_kubeconfigs(self, port: int) -> None:
        for user in USERS:
            content = component_kubeconfig(
                server=f"https://{LOOPBACK}:{port}", pki=self.layout.pki, user=user
            )
            write_private(self.layout.kubeconfig(user), content)

    async def _etcd_listens(self) -> bool:
        return self.layout.etcd_socket.exists()

    async def _api_ready(self) -> bool:
        # Whether it listens at all is asked without a certificate, which takes a hundredth of the time.
        if not self.supervisors[API_SERVER].process or not self.port or not listens(self.port):
            return False
        async with self.connect() as api:
            return await api.ready()

    async def _whole(self) -> bool:
        return all(one.process for one in self.supervisors.values()) and await self._api_ready()

    async def _until(self, reached: Callable[[], Awaitable[bool]], what: str) -> None:
        ends_before = {component: found.ends for component, found in self.supervisors.items()}
        try:
            async with asyncio.timeout(READY_WITHIN):
                while not await self._holds(reached):
                    self._check_components(ends_before)
                    await asyncio.sleep(POLL)
        except TimeoutError:
            raise ComponentFailedError(
                f"cluster {self.name!r}: waited {READY_WITHIN:.0f} s without success until {what}; "
                f"the components' logs are in {self.layout.log('x').parent}"
            ) from None

    async def _holds(self, reached: Callable[[], Awaitable[bool]]) -> bool:
        with contextlib.suppress(ApiError, httpx2.TransportError):
            return await reached()
        return False

    def _check_components(self, ends_before: Mapping[str, int]) -> None:
        for component, supervisor in self.supervisors.items():
            if supervisor.ends - ends_before[component] >= GIVE_UP_AFTER:
                raise ComponentFailedError(
                    f"cluster {self.name!r}: {component} does not stay up: it {supervisor.last_end}"
                )
        for task in self._tasks:
            if task.done() and (error := task.exception()):
                raise ComponentFailedError(f"cluster {self.name!r}: {task.get_name()}: {error}") from error
