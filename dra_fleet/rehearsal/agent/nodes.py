"""Machines join the cluster: a Node object each, registered again when somebody deletes it.

kwok keeps their heartbeats; what makes a node NotReady for a while is in `machines`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.agent.machines import Machines
    from dra_fleet.rehearsal.world.node import Host, NodeTaint

SIMULATED = "rehearsal.dra-fleet/hardware"
"""Annotation of every node that stands for an entry of the hardware file."""
MAX_PODS = "110"


class NodeJoiner:
    """Keeps the Node objects of a cluster's machines.

    Args:
        admin: registers nodes; a real kubelet would use its bootstrap rights.
        hosts: the machines by name.
        kubelet_version: such as "v1.36.3".
        pods_on: the pods bound to a node.
        machines: what the machines remember, and which resources they advertise.
    """

    def __init__(
        self,
        admin: KubeApi,
        hosts: dict[str, Host],
        kubelet_version: str,
        pods_on: Callable[[str], Iterable[Object]],
        machines: Machines,
    ) -> None:
        self._admin = admin
        self._hosts = hosts
        self._version = kubelet_version
        self._pods_on = pods_on
        self._machines = machines
        self._before: dict[str, Host] = {}

    def exchange(self, fresh: Mapping[str, Host]) -> list[str]:
        """Take other machines from now on; returns the names of those that came, went or changed."""
        names = {*self._hosts, *fresh}
        differing = sorted(name for name in names if self._hosts.get(name) != fresh.get(name))
        for name in differing:
            if name in self._hosts and name in fresh:
                self._before.setdefault(name, self._hosts[name])
        self._hosts.clear()
        self._hosts.update(fresh)
        return differing

    async def reconcile(self, name: str, present: Object | None) -> None:
        """Register a machine that has no Node; remove a Node whose machine was taken away."""
        host = self._hosts.get(name)
        if host is None:
            if present is not None and SIMULATED in present["metadata"].get("annotations", {}):
                await self._admin.delete("v1", "Node", name)
                await self._end_pods(name)
            return
        if present is None:  # with its status, as kubelets register: of a node without one kwok makes one up
            present = await self._admin.create({**self._node(host), "status": self._status(host)})
        elif name in self._before:
            await self._relabel(host, self._before[name], present)
        self._before.pop(name, None)
        status = self._status(host)
        if any(present.get("status", {}).get(key) != value for key, value in status.items()):
            await self._admin.merge("v1", "Node", name, {"status": status}, subresource="status")

    async def _relabel(self, host: Host, before: Host, present: Object) -> None:
        """Give a node the labels and taints its machine has now; what others put on it stays."""
        gone = {key: None for key in before.labels if key not in host.labels}
        kept = [taint for taint in present["spec"].get("taints", []) if not _is_one_of(taint, before.taints)]
        taints = [*kept, *(taint.model_dump(exclude_defaults=True) for taint in host.taints)]
        patch = {"metadata": {"labels": {**gone, **host.labels}}, "spec": {"taints": taints}}
        await self._admin.merge("v1", "Node", host.name, patch)

    async def _end_pods(self, node: str) -> None:
        """End the pods of a machine that is gone, as the clouds' node controllers do."""
        for pod in list(self._pods_on(node)):
            meta = pod["metadata"]
            at_once = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
            await self._admin.delete("v1", "Pod", meta["name"], meta["namespace"], options=at_once)

    def _node(self, host: Host) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": host.name,
                "annotations": {SIMULATED: "true", **self._machines.annotations(host.name)},
                "labels": {
                    "kubernetes.io/hostname": host.name,
                    "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": host.arch,
                    **host.labels,
                },
            },
            "spec": {
                "providerID": host.provider_id or f"rehearsal://{host.name}",
                "taints": [taint.model_dump(exclude_defaults=True) for taint in host.taints],
            },
        }

    def _status(self, host: Host) -> Object:
        boots = self._machines.memory(host.name).boots
        room = {
            "cpu": host.cpu,
            "memory": host.memory,
            "pods": host.allocatable.get("pods", MAX_PODS),
            **self._machines.resources(host.name),
            **{name: str(count) for name, count in host.advertised.items()},
        }
        return {
            "capacity": room,
            "allocatable": {**room, **host.allocatable},
            "nodeInfo": {
                "architecture": host.arch,
                "bootID": f"boot-{host.name}-{boots}" if boots else f"boot-{host.name}",
                "containerRuntimeVersion": "containerd://2.2.0",
                "kernelVersion": "6.8.0-rehearsal",
                "kubeProxyVersion": "",
                "kubeletVersion": host.kubelet or self._version,
                "machineID": f"machine-{host.name}",
                "operatingSystem": "linux",
                "osImage": "dra-fleet rehearsal",
                "systemUUID": f"system-{host.name}",
            },
        }


def _is_one_of(taint: Object, taints: Iterable[NodeTaint]) -> bool:
    return any(taint["key"] == item.key and taint["effect"] == item.effect for item in taints)
