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
from dra_fleet.rehearsal.agent.own.processes import PREFIX, NotUp
from dra_fleet.rehearsal.agent.view import POD
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers import own_of
from dra_fleet.rehearsal.drivers.node_side import Outfit
from dra_fleet.rehearsal.world.controlplane.components import Command
from dra_fleet.rehearsal.world.tasks import cancel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.own.processes import PodProcesses, PodProgram
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin
    from dra_fleet.rehearsal.world.node import Host
    from dra_fleet.rehearsal.world.processes import ProcessId

LOOK_AGAIN: Final = 0.5
FOLLOW_SECONDS: Final = 1.0


@dataclass(kw_only=True)
class _Running:
    driver: str
    chosen: Path
    container: ContainerProcess
    program: PodProgram
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
        if running is not None and running.chosen != program:
            self.forget(pod)
            raise NotUp("another program is to serve")
        place = f"{PREFIX}/{pod['spec']['nodeName']}/{plugin.container_name}/"
        if self._processes.ends(place):
            raise NotUp("the program before it ends")
        await self._processes.write_token(pod)
        if running is None:
            running = self._running[key] = self._start(pod, plugin, program, host)
        process = running.program.process()
        if running.registered is None or running.registered[0] != process:
            running.registered = (process, await self._register(running))

    def registered(self, pod: Object, plugin: NodePlugin) -> sockets.Registered | None:
        """How to speak to a plugin's own program; None where the plugin is simulated."""
        running = self._running.get((pod["metadata"]["uid"], plugin.container_name))
        return running.registered[1] if running and running.registered else None

    def forget(self, pod: Object) -> None:
        """End the programs of a pod that is gone."""
        for key in [key for key in self._running if key[0] == pod["metadata"]["uid"]]:
            self._processes.stop(self._running.pop(key).program)

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
        await cancel(running.program.task for running in self._running.values())

    def _start(self, pod: Object, plugin: NodePlugin, program: Path, host: Host) -> _Running:
        uid, node = pod["metadata"]["uid"], pod["spec"]["nodeName"]
        root = self._place.directory / "nodes" / node
        container = ContainerProcess(pod=pod, container=plugin.container, command=plugin.command, root=root)
        _, own = own_of(plugin)
        outfit = own.outfit(host, root) if own else Outfit()
        environment = {
            **container.environment(),
            **outfit.variables,
            "KUBECONFIG": str(self._processes.kubeconfig(pod)),
        }
        for name in PLACES:
            container.directory(name).mkdir(parents=True, exist_ok=True)
        arguments = with_mounts((str(program), *container.flags()), outfit.mounts)
        command = Command(arguments=arguments, environment=environment)
        key = Key(POD, key_of(pod))
        started = self._processes.start(
            f"{node}/{plugin.container_name}/{uid}",
            root,
            f"{PREFIX}-{node}-{plugin.container_name}",
            lambda: command,
            lambda: self._queue.add(key),
        )
        return _Running(driver=plugin.driver, chosen=program, container=container, program=started)

    async def _register(self, running: _Running) -> sockets.Registered:
        """Look for a program's socket as kubelets do, among those of all plugins of the node."""
        refused = "it has made no socket to register with yet"
        for socket in sorted(running.container.directory(REGISTRAR).glob("*.sock")):
            try:
                found = await sockets.register(socket, running.container.root)
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
            and (other.driver, other.container.root) == (running.driver, running.container.root)
            for other in self._running.values()
        )
