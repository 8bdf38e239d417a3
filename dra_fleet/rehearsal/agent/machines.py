"""State of machines beyond the hardware file: changes by drivers, reboots, a pod's driver.

A machine's own memory is an annotation of its node, so it outlives the agent, but not the machine.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from dra_fleet.rehearsal.agent.view import NODE
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers import node_sides
from dra_fleet.rehearsal.simulator.node import NodeFaults

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.view import ClusterView
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue
    from dra_fleet.rehearsal.simulator.node import Host

MEMORY: Final = "rehearsal.dra-fleet/machine"
DOWN: Final = "rehearsal.dra-fleet/down"
"""Annotation that keeps kwok from reporting a node as ready; see `rehearsal/simulator/stages.yaml`."""
FAULTS: Final = "rehearsal.dra-fleet/faults"
"""Annotation of a node with the faults of its machine, as JSON."""
REBOOT_SECONDS: Final = 3.0


class Memory(Struct, frozen=True, kw_only=True):
    """Memory of a machine.

    Args:
        kept: by driver, what its node side remembers of changes it made to the machine, in its own words.
        boots: how often it was rebooted.
        down: whether it is rebooting now.
    """

    kept: Mapping[str, str] = field(default_factory=dict[str, str])
    boots: int = 0
    down: bool = False

    def text(self) -> str:
        """Return the text of the annotation."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Memory:
        """Parse the annotation."""
        return cls(**json.loads(text))


class Machines:
    """The machines of one cluster as they are now.

    Args:
        admin: writes the memory's annotation, which no real machine needs.
        identities: a node reports its own shutdown.
        view: what pods run on them.
        queue: where to ask for the end of a reboot.
        hosts: the machines of the hardware file by name.
    """

    def __init__(
        self,
        admin: KubeApi,
        identities: Identities,
        view: ClusterView,
        queue: WorkQueue,
        hosts: Mapping[str, Host],
    ) -> None:
        self._admin = admin
        self._identities = identities
        self._view = view
        self._queue = queue
        self._hosts = hosts
        self._memories: dict[str, Memory] = {}
        self._up_at: dict[str, float] = {}
        self._faults: dict[str, NodeFaults] = {}

    def __contains__(self, name: object) -> bool:
        """Return whether the machine exists."""
        return name in self._hosts

    def delivered(self, name: str) -> Host:
        """Return a machine's entry in the hardware file."""
        return self._hosts[name]

    def installed(self, name: str) -> Host:
        """Return a machine with the installations of its image or its cloud, and all changes since."""
        host, kept, pods = self._hosts[name], self.memory(name).kept, list(self._view.pods_on(name))
        for driver, side in node_sides().items():
            host = side.installed(host, pods, kept.get(driver, ""))
        return host

    def host(self, name: str) -> Host:
        """Return a machine with everything on it, also the driver that a pod installed."""
        host, pods = self.installed(name), list(self._view.pods_on(name))
        for side in node_sides().values():
            host = side.with_pods(host, pods)
        return replace(host, faults=self.faults(name))

    def faults(self, name: str) -> NodeFaults:
        """Return a machine's faults now; a node that registers begins with those of the hardware file."""
        return faults_of(self._view.nodes.objects.get(name)) or self._hosts[name].faults

    def memory(self, name: str) -> Memory:
        """Return a machine's memory; a restarted agent reads it from the machine's node."""
        if name not in self._memories:
            node = self._view.nodes.objects.get(name, {})
            text = node.get("metadata", {}).get("annotations", {}).get(MEMORY)
            if not text:
                return Memory()
            self._memories[name] = Memory.read(text)
        return self._memories[name]

    def is_down(self, name: str) -> bool:
        """Return whether a machine is rebooting now, or unreachable."""
        return self.memory(name).down or (name in self._hosts and self.faults(name).unreachable)

    def annotations(self, name: str) -> dict[str, str]:
        """Return the annotations with the machine's memory for a node that registers again."""
        memory = self._memories.get(name)
        if memory is None:
            return {}
        return {MEMORY: memory.text(), **({DOWN: "true"} if memory.down else {})}

    def resources(self, name: str) -> dict[str, str]:
        """Return the extended resources that device plugins registered with the kubelet.

        0 after they left.
        """
        node = self._view.nodes.objects.get(name, {})
        before: dict[str, str] = node.get("status", {}).get("capacity", {})
        host, pods = self.host(name), list(self._view.pods_on(name))
        found: dict[str, str] = {}
        for side in node_sides().values():
            found |= side.resources(host, pods, before)
        return found

    async def change(self, name: str, driver: str, kept: str) -> None:
        """Change a machine for a driver.

        Args:
            name: the machine's.
            driver: whose node side changes it.
            kept: what that is given again by `NodeSide.installed`.
        """
        await self._remember(name, self._changed(name, driver, kept))

    async def reboot(self, name: str, driver: str, kept: str) -> None:
        """Reboot a machine, which returns changed; the arguments are those of `change`."""
        loop = asyncio.get_running_loop()
        self._up_at[name] = loop.time() + REBOOT_SECONDS
        await self._remember(name, replace(self._changed(name, driver, kept), down=True))
        patch = {"status": {"conditions": _ready_as(self._view.nodes.objects[name], SHUT_DOWN)}}
        await self._identities.kubelet(name).merge("v1", "Node", name, patch, subresource="status")
        self._queue.add_later(Key(NODE, name), REBOOT_SECONDS)

    async def reconcile(self, name: str) -> None:
        """Forget a machine that is gone; begin and end faults; end a reboot whose time has come."""
        if name not in self._hosts:
            self._memories.pop(name, None)
            self._faults.pop(name, None)
            return
        await self._apply_faults(name)
        if not self.memory(name).down:
            return
        now = asyncio.get_running_loop().time()
        up_at = self._up_at.setdefault(name, now + REBOOT_SECONDS)
        if now < up_at:
            self._queue.add_later(Key(NODE, name), up_at - now)
            return
        del self._up_at[name]
        memory = self.memory(name)
        await self._remember(name, replace(memory, boots=memory.boots + 1, down=False))
        self._view.wake_all_on(name)

    async def _apply_faults(self, name: str) -> None:
        now, before = self.faults(name), self._faults.get(name, NodeFaults())
        self._faults[name] = now
        if now == before:
            return
        if now.unreachable != before.unreachable and (node := self._view.nodes.objects.get(name)):
            down = {DOWN: "true" if now.unreachable else None}
            await self._admin.merge("v1", "Node", name, {"metadata": {"annotations": down}})
            if now.unreachable:
                patch = {"status": {"conditions": _ready_as(node, UNREACHABLE)}}
                await self._admin.merge("v1", "Node", name, patch, subresource="status")
        if now == NodeFaults():  # repaired, and started again
            memory = self.memory(name)
            await self._remember(name, replace(memory, boots=memory.boots + 1))
        self._view.wake_all_on(name)

    def _changed(self, name: str, driver: str, kept: str) -> Memory:
        memory = self.memory(name)
        return replace(memory, kept={**memory.kept, driver: kept})

    async def _remember(self, name: str, memory: Memory) -> None:
        self._memories[name] = memory
        annotations = {MEMORY: memory.text(), DOWN: "true" if memory.down else None}
        await self._admin.merge("v1", "Node", name, {"metadata": {"annotations": annotations}})


SHUT_DOWN: Final = {"status": "False", "reason": "KubeletNotReady", "message": "node is shutting down"}
UNREACHABLE: Final = {
    "status": "Unknown",
    "reason": "NodeStatusUnknown",
    "message": "Kubelet stopped posting node status.",
}
"""Condition of a node after its kubelet stopped, as the node lifecycle controller writes it."""


def _ready_as(node: Object, condition: Mapping[str, str]) -> list[Object]:
    return [
        {**item, **condition} if item["type"] == "Ready" else item
        for item in node["status"].get("conditions", [])
    ]


def faults_of(node: Object | None) -> NodeFaults | None:
    """Return the faults in a node's annotation; None without one."""
    text = (node or {}).get("metadata", {}).get("annotations", {}).get(FAULTS)
    return NodeFaults.model_validate_json(text) if text else None
