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
from dra_fleet.rehearsal.agent.view import POD
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers import own_of
from dra_fleet.rehearsal.drivers.node_side import Outfit
from dra_fleet.rehearsal.world.controlplane.components import Command
from dra_fleet.rehearsal.world.controlplane.ending import end_components
from dra_fleet.rehearsal.world.controlplane.kubeconfig import token_kubeconfig
from dra_fleet.rehearsal.world.controlplane.supervisor import ComponentPlace, Supervisor
from dra_fleet.rehearsal.world.files import last_lines, write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin
    from dra_fleet.rehearsal.world.node import Host
    from dra_fleet.rehearsal.world.processes import ProcessId
    from dra_fleet.rehearsal.world.served_by import OwnPlace

LOOK_AGAIN: Final = 0.5
FOLLOW_SECONDS: Final = 1.0
PREFIX: Final = "driver"


class NotUp(Exception):  # noqa: N818 - a state to show, not a bug
    """A driver's program runs and does not serve yet; the message says why."""


class Crashed(Exception):  # noqa: N818 - a state to show, not a bug
    """A driver's program has ended; the message is what it said last."""


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
        place: where they run.
        identities: give them their pods' tokens.
        queue: told of a pod whose program started or ended.
    """

    def __init__(self, place: OwnPlace, identities: Identities, queue: WorkQueue) -> None:
        self._place = place
        self._identities = identities
        self._queue = queue
        self._running: dict[tuple[str, str], _Running] = {}
        self._ending: set[str] = set()

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
        if any(component.startswith(place) for component in self._ending):
            raise NotUp("the program before it ends")
        await self._write_token(pod)
        if running is None:
            running = self._running[key] = self._start(pod, plugin, program, host)
        process = running.supervisor.process
        if process is None:
            if running.supervisor.ends:
                raise Crashed(_last_words(running.supervisor.place.log) or str(running.supervisor.last_end))
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
            self._end([running.supervisor.place.component])

    def end_others(self, pods: Iterable[Object]) -> None:
        """End the programs that an agent before this one left for pods that are gone."""
        alive = {pod["metadata"]["uid"] for pod in pods}
        recorded = [name for _, name in self._place.store.processes(self._place.cluster)]
        self._end(
            [name for name in recorded if name.startswith(f"{PREFIX}/") and name.split("/")[-1] not in alive]
        )

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

    def _end(self, components: Iterable[str]) -> None:
        recorded = self._place.store.processes(self._place.cluster)
        ending = {key: process for key, process in recorded.items() if key[1] in set(components)}
        if not ending:
            return
        names = {component for _, component in ending}
        self._ending |= names
        ended = asyncio.get_running_loop().run_in_executor(None, self._end_processes, ending)
        ended.add_done_callback(lambda _: self._ending.difference_update(names))

    def _end_processes(self, ending: Mapping[tuple[str, str], ProcessId]) -> None:
        end_components(ending)
        for cluster, component in ending:
            self._place.store.clear_process(cluster, component)

    def _start(self, pod: Object, plugin: NodePlugin, program: Path, host: Host) -> _Running:
        uid, node = pod["metadata"]["uid"], pod["spec"]["nodeName"]
        root = self._place.directory / "nodes" / node
        process = ContainerProcess(pod=pod, container=plugin.container, command=plugin.command, root=root)
        _, own = own_of(plugin)
        outfit = own.outfit(host, root) if own else Outfit()
        environment = {
            **process.environment(),
            **outfit.variables,
            "KUBECONFIG": str(self._kubeconfig(pod)),
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

    def _kubeconfig(self, pod: Object) -> Path:
        return self._place.directory / "nodes" / f"{pod['metadata']['uid']}.kubeconfig"

    async def _write_token(self, pod: Object) -> None:
        server, authority, kubeconfig = self._place.server(), self._place.authority(), self._kubeconfig(pod)
        if server is None or authority is None:
            raise NotUp("the API server has no address yet")
        kubeconfig.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        token = kubeconfig.with_suffix(".token")
        write_private(token, await self._identities.token(pod))
        write_private(kubeconfig, token_kubeconfig(server, authority, token))


def _last_words(log: Path) -> str:
    """The last line that a program wrote, without the prefix that Go's loggers put before it."""
    lines = [line for line in last_lines(log).splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""
