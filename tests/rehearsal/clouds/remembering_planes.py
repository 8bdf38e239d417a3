"""Control planes for tests of a simulated cloud that only remember what they were asked."""

from collections.abc import Callable, Sequence
from typing import cast

from dra_fleet.clusters.client import Object
from dra_fleet.drivers.dranet.simulation.node_side import EfaNode
from dra_fleet.drivers.nvidia.simulation.hardware import NvidiaNode
from dra_fleet.rehearsal.simulator.node import NodeHardware


class Entry(NvidiaNode, EfaNode):
    """An entry of the hardware file with what the drivers of these tests read."""


class Planes:
    """Remembers what it was asked."""

    def __init__(self, *, are_tokens: Callable[[str], bool], takes_objects: bool = False) -> None:
        """Ask for what a cloud gives.

        Args:
            are_tokens: whether a text is what the cloud's API servers take for logins.
            takes_objects: whether the cloud puts objects into its clusters.
        """
        self._are_tokens = are_tokens
        self._takes_objects = takes_objects
        self.nodes: dict[str, list[Entry]] = {}
        self.versions: dict[str, str] = {}
        self.ahead: dict[str, str] = {}
        self.applied: list[Object] = []

    def names(self) -> set[str]:
        return set(self.versions)

    async def start(self, name: str, *, version: str, tokens: str, known_as: str = "") -> None:
        del known_as
        assert self._are_tokens(tokens)
        self.versions[name] = version

    async def start_ahead(self, name: str, *, version: str, tokens: str) -> None:
        assert self._are_tokens(tokens)
        self.ahead[name] = version

    async def upgrade(self, name: str, *, version: str) -> None:
        self.versions[name] = version

    def place_nodes(self, name: str, version: str, nodes: Sequence[NodeHardware]) -> None:
        assert version == self.versions[name]
        self.nodes[name] = cast("list[Entry]", list(nodes))

    async def set_nodes(self, name: str, version: str, nodes: Sequence[NodeHardware]) -> None:
        self.place_nodes(name, version, nodes)

    async def apply(self, name: str, objects: Sequence[Object]) -> None:
        assert self._takes_objects, f"{objects} go into cluster {name}, where nothing was expected"
        assert name in self.versions
        self.applied += objects

    async def stop(self, name: str) -> None:
        del self.versions[name]

    def address(self, name: str) -> tuple[str, bytes]:
        return f"https://127.0.0.1:1/{name}", b"ca"

    def admin_kubeconfig(self, name: str) -> str:
        return f"admin of {name}"
