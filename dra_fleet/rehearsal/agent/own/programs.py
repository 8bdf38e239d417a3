"""Runs drivers' own programs in place of simulated plugins: starts, registers and ends them, node by node.

A program runs as its pod's container would, with the pod's own token; it is kept up with a growing pause, as
kubelets do, and recorded like a control plane's component, so that nothing of it outlives the rehearsal.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dra_fleet.clusters.informer import key_of
from dra_fleet.rehearsal.agent.own import sockets
from dra_fleet.rehearsal.agent.own.container import PLACES, REGISTRAR, ContainerProcess
from dra_fleet.rehearsal.agent.own.mounts import with_mounts
from dra_fleet.rehearsal.agent.own.processes import PREFIX, Crashed, NotUp, last_words
from dra_fleet.rehearsal.agent.view import POD
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers import own_of
from dra_fleet.rehearsal.drivers.node_side import Outfit
from dra_fleet.rehearsal.world.controlplane.components import Command
from dra_fleet.rehearsal.world.controlplane.supervisor import ComponentPlace, Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.own.processes import PodProcesses
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin
    from dra_fleet.rehearsal.world.node import Host
    from dra_fleet.rehearsal.world.processes import ProcessId

LOOK_AGAIN: Final = 0.5
FOLLOW_SECONDS: Final = 1.0


@dataclass(kw_only=True)
class _Running:
    driver: str
    program: Path
    process: ContainerProcess
    supervisor: Supervisor
    task: asyncio.Task[None]
    registered: tuple[ProcessId, sockets.Registered] | None = None


class OwnPrograms:
    """The drivers' own programs on a cluster's nodes.

    Args:
        processes: starts and ends them.
        queue: told of a pod whose program started or ended.
    """

    def __init__(self, processes: PodProcesses, queue: WorkQueue) -> None:
        self._processes = processes
        self._place = processes.place
        self._queue = queue
        self._running: dict[tuple[str, str], _Running] = {}

    def serves(self, plugin: NodePlugin) -> Path | None:
        """The program that serves in a simulated plugin's place, if one was chosen."""
        driver, own = own_of(plugin)
        return self._place.choice().program(driver, plugin.version) if own else None

    async def keep(self, pod: Object, plugin: NodePlugin, program: Path, host: Host) -> None:
        """Start a plugin's own program unless it runs, and register it.

        Raises:
            Crashed: it has ended; it is started again later.
            NotUp: it runs, and is not registered yet.
            ApiError: its pod may have no token.
        """
        key = (pod["metadata"]["uid"], plugin.container_name)
        running = self._running.get(key)
        if running is not None and running.program != program:
            self.forget(pod)
            raise NotUp("another program is to serve")
        place = f"{PREFIX}/{pod['spec']['nodeName']}/{plugin.container_name}/"
        if self._processes.ends(place):
            raise NotUp("the program before it ends")
        await self._processes.write_token(pod)
        if running is None:
            running = self._running[key] = self._start(pod, plugin, program, host)
        process = running.supervisor.process
        if process is None:
            if running.supervisor.ends:
                raise Crashed(last_words(running.supervisor.place.log) or str(running.supervisor.last_end))
            raise NotUp("its program starts")
        if running.registered is None or running.registered[0] != process:
            running.registered = (process, await self._register(running))

    def registered(self, pod: Object, plugin: NodePlugin) -> sockets.Registered | None:
        """How to speak to a plugin's own program; None where the plugin is simulated."""
        running = self._running.get((pod["metadata"]["uid"], plugin.container_name))
        return running.registered[1] if running and running.registered else None

    def forget(self, pod: Object) -> None:
        """End the programs of a pod that is gone."""
        for key in [key for key in self._running if key[0] == pod["metadata"]["uid"]]:
            running = self._running.pop(key)
            running.task.cancel()
            self._processes.end([running.supervisor.place.component])

    async def follow(self, changed: Callable[[], None]) -> None:
        """Tell when other programs are to serve than before, until cancelled."""
        before = self._place.choice()
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            if (now := self._place.choice()) != before:
                before = now
                changed()

    async def close(self) -> None:
        """Stop watching the programs; they go on."""
        tasks = [running.task for running in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, pod: Object, plugin: NodePlugin, program: Path, host: Host) -> _Running:
        uid, node = pod["metadata"]["uid"], pod["spec"]["nodeName"]
        root = self._place.directory / "nodes" / node
        process = ContainerProcess(pod=pod, container=plugin.container, command=plugin.command, root=root)
        _, own = own_of(plugin)
        outfit = own.outfit(host, root) if own else Outfit()
        environment = {
            **process.environment(),
            **outfit.variables,
            "KUBECONFIG": str(self._processes.kubeconfig(pod)),
        }
        directories = [process.directory(name) for name in PLACES]
        for directory in directories:
            directory.mkdir(parents=True, exist_ok=True)
        place = ComponentPlace(
            cluster=self._place.cluster,
            component=f"{PREFIX}/{node}/{plugin.container_name}/{uid}",
            directory=root,
            log=self._place.directory / "logs" / f"{PREFIX}-{node}-{plugin.container_name}.log",
        )
        arguments = with_mounts((str(program), *process.flags()), outfit.mounts)
        command = Command(arguments=arguments, environment=environment)
        key = Key(POD, key_of(pod))
        supervisor = Supervisor(place, self._place.store, lambda: command, lambda: self._queue.add(key))
        task = asyncio.create_task(supervisor.run(), name=f"{self._place.cluster}/{place.component}")
        return _Running(
            driver=plugin.driver, program=program, process=process, supervisor=supervisor, task=task
        )

    async def _register(self, running: _Running) -> sockets.Registered:
        """Look for a program's socket as kubelets do, among those of all plugins of the node."""
        refused = "it has made no socket to register with yet"
        for socket in sorted(running.process.directory(REGISTRAR).glob("*.sock")):
            try:
                found = await sockets.register(socket, running.process.root)
            except sockets.RegistrationFailed as error:
                refused = str(error)
                continue
            if found.name != running.driver:
                refused = f"a plugin of this node registers as {found.name}, none as {running.driver}"
            elif self._is_taken(running):
                refused = f"another plugin of this node has registered as {found.name} already"
            else:
                return found
        raise NotUp(refused)

    def _is_taken(self, running: _Running) -> bool:
        """Whether another pod's program serves the same driver on the same node."""
        return any(
            other is not running
            and other.registered is not None
            and (other.driver, other.process.root) == (running.driver, running.process.root)
            for other in self._running.values()
        )
