"""The control planes behind simulated managed clusters: started, given nodes, and stopped for a cloud."""

from __future__ import annotations

import asyncio
import difflib
import re
from typing import TYPE_CHECKING, Final, Literal, Protocol

from msgspec import Struct

from dra_fleet.clusters.informer import Informer
from dra_fleet.rehearsal.simulator.errors import ComponentFailedError, NoSuchClusterError
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.model.hardware import Machine
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.simulator.node import NodeHardware
    from dra_fleet.rehearsal.simulator.simulator import Simulator


_CPUS: Final = {"medium": 1, "large": 2, "xlarge": 4}


class InstanceType(Struct, frozen=True, kw_only=True):
    """A machine type. `machine` is its catalogue name, None for a general one; memory in GiB."""

    name: str
    cpus: int
    memory_gib: int
    arch: Literal["amd64", "arm64"] = "amd64"
    machine: str | None = None
    gpu: str | None = None
    gpus: int = 0

    @classmethod
    def of(cls, machine: Machine) -> Self:
        """Build the type of a catalogue machine; unknown memory becomes that of general machines."""
        return cls(
            name=machine.name,
            cpus=machine.cpus,
            memory_gib=machine.memory_gib or 4 * machine.cpus,
            arch=machine.arch or "amd64",
            machine=machine.name,
            gpu=machine.gpu,
            gpus=machine.gpus,
        )


NODES_WITHIN = 120.0
"""Seconds until all nodes of a cluster are Ready; generous, because many clusters may start on few cores."""


class ManagedControlPlanes(Protocol):
    """The simulator's control planes, as clouds use them."""

    def names(self) -> set[str]:
        """Return the names in use."""
        ...

    async def start(self, name: str, *, version: str, tokens: str, known_as: str = "") -> None:
        """Start a control plane without nodes, or wait for the one that is there.

        Args:
            name: its name.
            version: its release.
            tokens: lines of a token file:
                https://kubernetes.io/docs/reference/access-authn-authz/authentication/.
            known_as: the id by which its cloud knows it, where stacks adopt clusters by that.
        """
        ...

    async def start_ahead(self, name: str, *, version: str, tokens: str) -> None:
        """Start a control plane that the cloud will be asked for; returns at once."""
        ...

    async def upgrade(self, name: str, *, version: str) -> None:
        """Let a control plane run another release; its nodes and data stay."""
        ...

    def place_nodes(self, name: str, version: str, nodes: Sequence[NodeHardware]) -> None:
        """Give a cluster exactly these machines, which join and leave it soon after."""
        ...

    async def set_nodes(self, name: str, version: str, nodes: Sequence[NodeHardware]) -> None:
        """Give a cluster exactly these machines; returns when all are Ready and no other is left."""
        ...

    async def apply(self, name: str, objects: Sequence[Object]) -> None:
        """Create a cloud's own objects in a cluster; existing ones are kept."""
        ...

    async def stop(self, name: str) -> None:
        """Stop a control plane and delete its data; harmless where there is none."""
        ...

    def address(self, name: str) -> tuple[str, bytes]:
        """Return the API server's URL and the authority's certificate."""
        ...

    def admin_kubeconfig(self, name: str) -> str:
        """Return the administrator's kubeconfig with its client certificate (secret)."""
        ...


class SimulatorControlPlanes:
    """Control planes of the simulator's own."""

    def __init__(self, simulator: Simulator, home: Home) -> None:
        self._simulator = simulator
        self._home = home

    def names(self) -> set[str]:
        """Return the names in use."""
        return {cluster.name for cluster in self._simulator.all()}

    async def start(self, name: str, *, version: str, tokens: str, known_as: str = "") -> None:
        """Start a control plane without nodes, or wait for the one that is there."""
        if known_as and not (self._home.clusters / known_as).is_symlink():
            (self._home.clusters / known_as).symlink_to(name)
        if name in self.names():
            await self._simulator.get(name).ready()
            return
        await self._simulator.put(name, version=version, hardware={"kubernetes": version}, tokens=tokens)

    async def start_ahead(self, name: str, *, version: str, tokens: str) -> None:
        """Start a control plane that the cloud will be asked for; returns at once."""
        await self._simulator.start_ahead(name, version=version, tokens=tokens)

    async def upgrade(self, name: str, *, version: str) -> None:
        """Let a control plane run another release; its nodes and data stay."""
        await self._simulator.upgrade(name, version)

    def place_nodes(self, name: str, version: str, nodes: Sequence[NodeHardware]) -> None:
        """Give a cluster exactly these machines, which join and leave it soon after."""
        hardware = ClusterHardware(kubernetes=version, nodes=tuple(nodes))
        self._simulator.get(name).set_hardware(hardware)

    async def set_nodes(self, name: str, version: str, nodes: Sequence[NodeHardware]) -> None:
        """Give a cluster exactly these machines; returns when all are Ready and no other is left.

        Raises:
            ComponentFailedError: they are not within the time.
        """
        self.place_nodes(name, version, nodes)
        cluster = self._simulator.get(name)
        requested = {host.name for node in nodes for host in node.hosts()}
        try:
            async with asyncio.timeout(NODES_WITHIN), cluster.plane.connect() as api:
                await until_all_ready(api, requested)
        except TimeoutError:
            raise ComponentFailedError(
                f"the nodes of cluster {name!r} did not become Ready within {NODES_WITHIN:.0f} s; "
                "see `dra-fleet rehearse status`"
            ) from None

    async def apply(self, name: str, objects: Sequence[Object]) -> None:
        """Create a cloud's own objects in a cluster; existing ones are kept."""
        async with self._simulator.get(name).plane.connect() as api:
            for item in objects:
                if await api.find(item["apiVersion"], item["kind"], item["metadata"]["name"]) is None:
                    await api.create(item)

    async def stop(self, name: str) -> None:
        """Stop a control plane and delete its data; harmless where there is none."""
        for entry in self._home.clusters.iterdir():
            if entry.is_symlink() and entry.readlink().name == name:
                entry.unlink()
        try:
            await self._simulator.remove(name)
        except NoSuchClusterError:
            return

    def address(self, name: str) -> tuple[str, bytes]:
        """Return the API server's URL and the authority's certificate."""
        cluster = self._simulator.get(name)
        return cluster.plane.server or "", cluster.authority or b""

    def admin_kubeconfig(self, name: str) -> str:
        """Return the administrator's kubeconfig with its client certificate (secret)."""
        return (self._home.clusters / name / "admin.kubeconfig").read_text()


async def until_all_ready(api: KubeApi, requested: set[str]) -> None:
    """Return once these nodes, and no others, are there and Ready."""
    changed = asyncio.Event()
    nodes = Informer(api, "v1", "Node", lambda _: changed.set())
    async with asyncio.TaskGroup() as group:
        following = group.create_task(nodes.run())
        await nodes.synced.wait()
        while nodes.objects.keys() != requested or not all(map(_is_ready, nodes.objects.values())):
            await changed.wait()
            changed.clear()
        following.cancel()


def _is_ready(node: Object) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def near(name: str, known: Iterable[str]) -> str:
    """List the known names most like this one, joined by commas."""
    return ", ".join(difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.3)) or "none"


def cpus_of(size: str) -> int | None:
    """Return the CPU count of a size such as "large" or "2xlarge"; None for other words."""
    many = re.fullmatch(r"(\d+)xlarge", size)
    return 4 * int(many[1]) if many else _CPUS.get(size)
