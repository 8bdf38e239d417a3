"""Runs drivers' own programs in place of simulated plugins: starts, registers and ends them, node by node.

A program runs as its pod's container would, with the pod's own token; it is kept up with a growing pause, as
kubelets do, and recorded like a control plane's component, so that nothing of it outlives the rehearsal.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet.clusters.informer import key_of
from dra_fleet.rehearsal.agent.own import sockets
from dra_fleet.rehearsal.agent.own.processes import PREFIX, NotUp
from dra_fleet.rehearsal.agent.view import POD
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers import own_of
from dra_fleet.rehearsal.drivers.node_side import Outfit
from dra_fleet.rehearsal.simulator.controlplane.components import Command
from dra_fleet.rehearsal.simulator.controlplane.ports import LOOPBACK
from dra_fleet.rehearsal.simulator.processes import cancel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.own.processes import PodProcesses, PodProgram
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin
    from dra_fleet.rehearsal.simulator.node import Host
    from dra_fleet.rehearsal.simulator.processes import ProcessId


REGISTRAR: Final = "KUBELET_REGISTRAR_DIRECTORY_PATH"

PLUGINS: Final = "KUBELET_PLUGINS_DIRECTORY_PATH"

CDI: Final = "CDI_ROOT"

PLACES: Final = {
    REGISTRAR: "/var/lib/kubelet/plugins_registry",
    PLUGINS: "/var/lib/kubelet/plugins",
    CDI: "/var/run/cdi",
}
"""Default places of a driver's files, each a directory of the node."""

PORTS: Final = ("HEALTHCHECK_PORT", "METRICS_PORT")
"""All nodes of a rehearsal are one machine, so that each driver takes any free port."""

ENDPOINT: Final = "HTTP_ENDPOINT"
"""Address of NVIDIA's metrics, by default a fixed port of every interface."""

_REFERENCE: Final = re.compile(r"\$\((\w+)\)")

_FIELD: Final = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class ContainerProcess(Struct, frozen=True, kw_only=True):
    """A driver's container on one node.

    Args:
        pod: whose it is.
        container: its specification.
        command: the program's name in it.
        root: the node's directory, in which each of its paths is a directory of the path's last name.
    """

    pod: Object
    container: Object
    command: str
    root: Path

    def flags(self) -> list[str]:
        """Return the program's arguments."""
        said = " ".join([*self.container.get("command", []), *self.container.get("args", [])])
        words = _expanded(said, self._plain()).split()
        return [self._on_node(word) for word in words[words.index(self.command) + 1 :]]

    def environment(self) -> dict[str, str]:
        """Its variables, with the paths of mounts as they are on this machine.

        Directories of sockets are relative to the node's, in which it runs: what a kernel takes for the path
        of a socket is short.
        """
        values = {**PLACES, **self._plain()}
        values |= {name: "0" for name in PORTS if name in values}
        if values.get(ENDPOINT):
            values[ENDPOINT] = f"{LOOPBACK}:0"
        places = {name: self._place(values[name]) for name in PLACES}
        places |= {name: places[name].relative_to(self.root) for name in (REGISTRAR, PLUGINS)}
        return {name: self._on_node(value) for name, value in values.items()} | {
            name: str(place) for name, place in places.items()
        }

    def directory(self, variable: str) -> Path:
        """Return one of `PLACES` on this machine."""
        return self.root / self.environment()[variable]

    def _plain(self) -> dict[str, str]:
        values: dict[str, str] = {}
        for item in self.container.get("env", []):
            source = item.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            reported = _field(self.pod, source) if source else item.get("value", "")
            values[item["name"]] = _expanded(reported, values)
        return values

    def _place(self, path: str) -> Path:
        """Return a directory of the node, or one of the container if it is not mounted from the node."""
        moved = self._on_node(path)
        return Path(moved) if moved != path else self.root / "container" / PurePosixPath(path).name

    def _on_node(self, value: str) -> str:
        for mount, host in self._mounts().items():
            if value == mount or value.startswith(f"{mount}/"):
                return f"{self.root / (PurePosixPath(host).name or 'host')}{value.removeprefix(mount)}"
        return value

    def _mounts(self) -> Mapping[str, str]:
        volumes = {
            item["name"]: item["hostPath"]["path"]
            for item in self.pod["spec"].get("volumes", [])
            if "hostPath" in item
        }
        mounts: list[Object] = self.container.get("volumeMounts", [])
        return {
            item["mountPath"].rstrip("/"): volumes[item["name"]] for item in mounts if item["name"] in volumes
        }


def _expanded(text: str, values: Mapping[str, str]) -> str:
    """Replace `$(NAME)` in a text if the variable exists.

    Source: https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
    """
    return _REFERENCE.sub(lambda found: values.get(found[1], found[0]), text)


def _field(pod: Object, path: str) -> str:
    if found := _FIELD.fullmatch(path):
        return str(pod["metadata"].get(found[1], {}).get(found[2], ""))
    part, _, name = path.partition(".")
    return str(pod.get(part, {}).get(name, ""))


# Shows a driver's own program files of its node at paths that it does not let one choose.
#
# On Linux a mount namespace does this, where this user may make one: root, or a user who may map to root.
# https://man7.org/linux/man-pages/man7/user_namespaces.7.html

WAYS: Final = (("unshare", "--mount"), ("unshare", "--user", "--map-root-user", "--mount"))

BIND: Final = 'while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit; shift 2; done; shift; exec "$@"'


def with_mounts(command: Sequence[str], mounts: Mapping[Path, Path]) -> tuple[str, ...]:
    """Wrap a command so that it sees files of its node at other paths, if a mount namespace is available.

    Args:
        command: what to run; it keeps the process's id.
        mounts: what is shown, by the path that it is shown at; both are there.
    """
    way = _way()
    if not mounts or way is None:
        return tuple(command)
    pairs = [str(path) for shown_at, shown in mounts.items() for path in (shown, shown_at)]
    return (*way, "/bin/sh", "-c", BIND, "sh", *pairs, "--", *command)


LOOK_AGAIN: Final = 0.5

FOLLOW_SECONDS: Final = 1.0


class _Running(Struct, kw_only=True):
    driver: str
    chosen: Path
    container: ContainerProcess
    program: PodProgram
    registered: tuple[ProcessId, sockets.Registered] | None = None


class OwnPrograms:
    """The drivers' own programs on a cluster's nodes.

    Args:
        processes: starts and ends them.
        queue: receives each pod whose program started or ended.
    """

    def __init__(self, processes: PodProcesses, queue: WorkQueue) -> None:
        self._processes = processes
        self._place = processes.place
        self._queue = queue
        self._running: dict[tuple[str, str], _Running] = {}

    def serves(self, plugin: NodePlugin) -> Path | None:
        """Return the program that serves in place of a simulated plugin, if one was chosen."""
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
        """Return the connection to a plugin's own program; None if the plugin is simulated."""
        running = self._running.get((pod["metadata"]["uid"], plugin.container_name))
        return running.registered[1] if running and running.registered else None

    def forget(self, pod: Object) -> None:
        """End the programs of a pod that is gone."""
        for key in [key for key in self._running if key[0] == pod["metadata"]["uid"]]:
            self._processes.stop(self._running.pop(key).program)

    async def follow(self, changed: Callable[[], None]) -> None:
        """Watch the choice of programs until cancelled."""
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
        return any(
            other is not running
            and other.registered is not None
            and (other.driver, other.container.root) == (running.driver, running.container.root)
            for other in self._running.values()
        )


@cache
def _way() -> tuple[str, ...] | None:
    tried = ("mount", "--bind", "/dev/null", "/proc/version")
    return next((way for way in WAYS if _runs((*way, *tried))), None)


def _runs(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
