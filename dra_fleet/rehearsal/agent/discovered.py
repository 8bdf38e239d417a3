"""A driver's node plugin looks at its machine when it starts, and never again: new partitions need a restart.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `cmd/gpu-kubelet-plugin/nvlib.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.rehearsal.agent.driver_pod import is_ready

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.machines import Machines
    from dra_fleet.rehearsal.world.node import Host


class Discovered:
    """The machines as the drivers' pods found them.

    A restart of the agent counts as a restart of the plugins, as does another entry in the hardware file.
    """

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self._found: dict[str, tuple[int, Host, Host]] = {}

    def host(self, pod: Object) -> Host:
        """The machine as a driver's pod knows it."""
        uid, name = pod["metadata"]["uid"], pod["spec"]["nodeName"]
        boots, delivered = self._machines.memory(name).boots, self._machines.delivered(name)
        known = self._found.get(uid)
        if known is not None and known[:2] == (boots, delivered) and is_ready(pod):
            return known[2]
        now = self._machines.host(name)
        self._found[uid] = (boots, delivered, now)
        return now

    def forget(self, pod: Object) -> None:
        """A pod is gone."""
        self._found.pop(pod["metadata"]["uid"], None)
