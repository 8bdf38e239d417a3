"""What machines hold beyond their entry in the hardware file: partitions made since, reboots, a pod's driver.

A machine's own memory is an annotation of its node, so it outlives the agent; it goes with the machine.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.rehearsal.agent.driver_pod import is_ready
from dra_fleet.rehearsal.agent.installers import with_installed_driver
from dra_fleet.rehearsal.agent.view import NODE
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers.nvidia.operator.capacity import extended_resources
from dra_fleet.rehearsal.drivers.nvidia.operator.roles import Role, role_of
from dra_fleet.rehearsal.world.hardware import NvidiaOnHost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.view import ClusterView
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue
    from dra_fleet.rehearsal.drivers.nvidia.operator.mig_config import Layouts
    from dra_fleet.rehearsal.world.hardware import Host

MEMORY: Final = "rehearsal.dra-fleet/machine"
DOWN: Final = "rehearsal.dra-fleet/down"
"""Annotation that keeps kwok from reporting a node as ready; see `dra_fleet/rehearsal/world/stages.yaml`."""
REBOOT_SECONDS: Final = 3.0
OPERATOR_ROOT: Final = "/run/nvidia/driver"


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What a machine remembers.

    Args:
        mig: the partitions of each GPU, None with MIG mode off; None altogether while nobody changed them.
        boots: how often it was rebooted.
        down: whether it is rebooting now.
    """

    mig: Layouts | None = None
    boots: int = 0
    down: bool = False

    def text(self) -> str:
        """As written into the annotation."""
        mig = None if self.mig is None else [None if one is None else dict(one) for one in self.mig]
        return json.dumps({"mig": mig, "boots": self.boots, "down": self.down})

    @classmethod
    def read(cls, text: str) -> Memory:
        """From the annotation."""
        body = cast("dict[str, Any]", json.loads(text))
        layouts = cast("list[dict[str, int] | None] | None", body["mig"])
        mig = (
            None if layouts is None else tuple(one if one is None else tuple(one.items()) for one in layouts)
        )
        return cls(mig=mig, boots=body["boots"], down=body["down"])


class Machines:
    """The machines of one cluster as they are now.

    Args:
        admin: writes the memory's annotation, which no real machine needs.
        identities: a node says itself that it goes down.
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

    def __contains__(self, name: object) -> bool:
        """Whether there is such a machine."""
        return name in self._hosts

    def delivered(self, name: str) -> Host:
        """A machine's entry in the hardware file."""
        return self._hosts[name]

    def installed(self, name: str) -> Host:
        """A machine with what its image or a cloud's installer put on it, and the MIG layout it has now."""
        host = with_installed_driver(self._hosts[name], self._view.pods_on(name))
        mig = self.memory(name).mig
        if mig is None or len(mig) != len(host.gpus):
            return host
        gpus = tuple(dataclasses.replace(gpu, mig=layout) for gpu, layout in zip(host.gpus, mig, strict=True))
        return dataclasses.replace(host, gpus=gpus)

    def host(self, name: str) -> Host:
        """A machine with everything on it, also the driver that a pod installed."""
        host = self.installed(name)
        version = None if host.nvidia else self._driver_from_pod(name)
        if version is None:
            return host
        nvidia = NvidiaOnHost(driver_version=version, driver_root=OPERATOR_ROOT)
        return dataclasses.replace(host, nvidia=nvidia)

    def memory(self, name: str) -> Memory:
        """What a machine remembers."""
        return self._memories.get(name, Memory())

    def is_down(self, name: str) -> bool:
        """Whether a machine is rebooting now."""
        return self.memory(name).down

    def annotations(self, name: str) -> dict[str, str]:
        """What a node that registers anew carries of its machine's memory."""
        memory = self._memories.get(name)
        if memory is None:
            return {}
        return {MEMORY: memory.text(), **({DOWN: "true"} if memory.down else {})}

    def resources(self, name: str) -> dict[str, str]:
        """The extended resources that device plugins registered with the kubelet; 0 after they left."""
        node = self._view.nodes.objects.get(name, {})
        before: dict[str, str] = node.get("status", {}).get("capacity", {})
        gone = {key: "0" for key in before if key.startswith("nvidia.com/")}
        pods = [
            pod for pod in self._view.pods_on(name) if role_of(pod) is Role.DEVICE_PLUGIN and is_ready(pod)
        ]
        return gone | (extended_resources(pods[0], self.host(name)) if pods else {})

    async def set_layouts(self, name: str, layouts: Layouts) -> None:
        """Partition the GPUs of a machine, one layout each."""
        await self._remember(name, dataclasses.replace(self.memory(name), mig=layouts))

    async def reboot(self, name: str, layouts: Layouts) -> None:
        """Reboot a machine; its GPUs come back with these layouts.

        Args:
            name: the machine's.
            layouts: MIG mode takes effect with the reset; partitions do not survive it.
        """
        loop = asyncio.get_running_loop()
        self._up_at[name] = loop.time() + REBOOT_SECONDS
        await self._remember(name, dataclasses.replace(self.memory(name), mig=layouts, down=True))
        patch = {"status": {"conditions": _not_ready(self._view.nodes.objects[name])}}
        await self._identities.kubelet(name).merge("v1", "Node", name, patch, subresource="status")
        self._queue.add_later(Key(NODE, name), REBOOT_SECONDS)

    async def reconcile(self, name: str) -> None:
        """Read a machine's memory after a restart of the agent; end a reboot whose time has come."""
        if name not in self._hosts:
            self._memories.pop(name, None)
            return
        node = self._view.nodes.objects.get(name)
        text = node["metadata"].get("annotations", {}).get(MEMORY) if node else None
        if name not in self._memories and text:
            self._memories[name] = Memory.read(text)
        if not self.is_down(name):
            return
        now = asyncio.get_running_loop().time()
        up_at = self._up_at.setdefault(name, now + REBOOT_SECONDS)
        if now < up_at:
            self._queue.add_later(Key(NODE, name), up_at - now)
            return
        del self._up_at[name]
        memory = self.memory(name)
        await self._remember(name, dataclasses.replace(memory, boots=memory.boots + 1, down=False))
        self._view.wake_all_on(name)

    def _driver_from_pod(self, name: str) -> str | None:
        for pod in self._view.pods_on(name):
            if role_of(pod) is Role.DRIVER and is_ready(pod):
                return driver_version(pod)
        return None

    async def _remember(self, name: str, memory: Memory) -> None:
        self._memories[name] = memory
        annotations = {MEMORY: memory.text(), DOWN: "true" if memory.down else None}
        await self._admin.merge("v1", "Node", name, {"metadata": {"annotations": annotations}})


def driver_version(pod: Object) -> str:
    """The driver's version in the tag of its image: 580.95.05-ubuntu24.04."""
    found = re.search(r":(\d+\.\d+(\.\d+)?)", pod["spec"]["containers"][0]["image"])
    return found.group(1) if found else "0.0"


def _not_ready(node: Object) -> list[Object]:
    """What a kubelet that shuts down with its machine says last."""
    return [
        {**item, "status": "False", "reason": "KubeletNotReady", "message": "node is shutting down"}
        if item["type"] == "Ready"
        else item
        for item in node["status"].get("conditions", [])
    ]
