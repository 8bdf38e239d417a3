"""Machines join the cluster: a Node object each, registered again when somebody deletes it.

kwok keeps their heartbeats; nothing here makes a node NotReady.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusters.client import KubeApi, Object
    from rehearsal.world.hardware import Host

SIMULATED = "rehearsal.dra-fleet/hardware"
"""Annotation of every node that stands for an entry of the hardware file."""
MAX_PODS = "110"


class NodeJoiner:
    """Keeps the Node objects of a cluster's machines.

    Args:
        admin: registers nodes; a real kubelet would use its bootstrap rights.
        hosts: the machines by name.
        kubelet_version: such as "v1.36.3".
    """

    def __init__(self, admin: KubeApi, hosts: Mapping[str, Host], kubelet_version: str) -> None:
        self._admin = admin
        self._hosts = hosts
        self._version = kubelet_version

    async def reconcile(self, name: str, present: Object | None) -> None:
        """Register a machine that has no Node; remove a Node whose machine was taken away."""
        host = self._hosts.get(name)
        if host is None:
            if present is not None and SIMULATED in present["metadata"].get("annotations", {}):
                await self._admin.delete("v1", "Node", name)
            return
        if present is None:
            present = await self._admin.create(self._node(host))
        status = self._status(host)
        if any(present.get("status", {}).get(key) != value for key, value in status.items()):
            await self._admin.merge("v1", "Node", name, {"status": status}, subresource="status")

    def _node(self, host: Host) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": host.name,
                "annotations": {SIMULATED: "true"},
                "labels": {
                    "kubernetes.io/hostname": host.name,
                    "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64",
                    **host.labels,
                },
            },
            "spec": {
                "providerID": f"rehearsal://{host.name}",
                "taints": [taint.model_dump(exclude_defaults=True) for taint in host.taints],
            },
        }

    def _status(self, host: Host) -> Object:
        room = {"cpu": host.cpu, "memory": host.memory, "pods": MAX_PODS}
        return {
            "capacity": room,
            "allocatable": room,
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": f"boot-{host.name}",
                "containerRuntimeVersion": "containerd://2.2.0",
                "kernelVersion": "6.8.0-rehearsal",
                "kubeProxyVersion": "",
                "kubeletVersion": self._version,
                "machineID": f"machine-{host.name}",
                "operatingSystem": "linux",
                "osImage": "dra-fleet rehearsal",
                "systemUUID": f"system-{host.name}",
            },
        }
