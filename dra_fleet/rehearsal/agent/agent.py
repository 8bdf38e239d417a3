"""Agent of one cluster: starts and stops the informers and the workers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from typing import TYPE_CHECKING, Final

from dra_fleet.rehearsal.agent.identity import Identities
from dra_fleet.rehearsal.agent.kubelet import Kubelets
from dra_fleet.rehearsal.agent.machines import FAULTS, Machines
from dra_fleet.rehearsal.agent.node_plugins import NodePlugins
from dra_fleet.rehearsal.agent.own.processes import PodProcesses
from dra_fleet.rehearsal.agent.own.programs import OwnPrograms
from dra_fleet.rehearsal.agent.own.sockets import OPEN_FILES
from dra_fleet.rehearsal.agent.view import (
    CLAIM_NAMES,
    NODE,
    POD,
    RESOURCE_API,
    SLICES,
    ClusterView,
    partly_named,
    templated_claims,
)
from dra_fleet.rehearsal.agent.work_queue import Key, WorkQueue
from dra_fleet.rehearsal.controllers import Controllers
from dra_fleet.rehearsal.drivers import node_sides, plugins_of
from dra_fleet.rehearsal.simulator.controlplane.components import SERVICE_SOCKET
from dra_fleet.rehearsal.simulator.controlplane.ports import LOOPBACK
from dra_fleet.rehearsal.simulator.node import NodeFaults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware
    from dra_fleet.rehearsal.simulator.node import Host, NodeTaint
    from dra_fleet.rehearsal.simulator.served_by import OwnPlace


# Names all claims of a pod at once, where Kubernetes' own controller names one and forgets another for ever.
#
# Up to 1.36 that controller may replace the names of a pod's claims in its status by those it looked at
# last, when its view of claims is behind its view of pods, as on a busy machine. Such a pod never starts. A
# name that a second field manager gives too stays. Fixed in 1.37:
# https://github.com/kubernetes/kubernetes/issues/138407

FIELD_MANAGER = "rehearsal.dra-fleet"

POD_CLAIM = "resource.kubernetes.io/pod-claim-name"


class ClaimNames:
    """Looks after the pods of all nodes and of none yet.

    Args:
        admin: no kubelet may write these names.
        view: what there is.
    """

    def __init__(self, admin: KubeApi, view: ClusterView) -> None:
        self._admin = admin
        self._view = view

    async def reconcile(self, key: str) -> None:
        """Name the claims of one pod once all of them are made, if only some are named."""
        pod = self._view.pods.objects.get(key)
        if pod is None or not partly_named(pod):
            return
        meta = pod["metadata"]
        claims = (await self._admin.list(RESOURCE_API, "ResourceClaim", meta["namespace"]))["items"]
        made = {
            claim["metadata"]["annotations"][POD_CLAIM]: claim["metadata"]["name"]
            for claim in claims
            if POD_CLAIM in claim["metadata"].get("annotations", {}) and _owned(claim, meta["uid"])
        }
        if not templated_claims(pod) <= made.keys():
            return
        named = [{"name": name, "resourceClaimName": made[name]} for name in sorted(templated_claims(pod))]
        body: Object = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {key: meta[key] for key in ("name", "namespace", "uid")},
            "status": {"resourceClaimStatuses": named},
        }
        await self._admin.apply(body, manager=FIELD_MANAGER, force=True, subresource="status")


def _owned(claim: Object, pod: str) -> bool:
    return any(owner["uid"] == pod for owner in claim["metadata"].get("ownerReferences", []))


# Machines join the cluster: a Node object each, registered again when someone deletes it.
#
# kwok keeps their heartbeats; what makes a node NotReady for a while is in `machines`.

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
                "annotations": {
                    SIMULATED: "true",
                    **({FAULTS: host.faults.model_dump_json()} if host.faults != NodeFaults() else {}),
                    **self._machines.annotations(host.name),
                },
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
        capacity = {
            "cpu": host.cpu,
            "memory": host.memory,
            "pods": host.allocatable.get("pods", MAX_PODS),
            **self._machines.resources(host.name),
            **{name: str(count) for name, count in host.advertised.items()},
        }
        return {
            "capacity": capacity,
            "allocatable": {**capacity, **host.allocatable},
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


# How the API server reaches Services: it asks here for a connection, as real ones ask a network proxy.
#
# Webhooks and aggregated APIs are reached so; no object is changed for it.
# https://kubernetes.io/docs/tasks/extend-kubernetes/setup-konnectivity/ reports the protocol: HTTP CONNECT.

CHUNK: Final = 65536

REFUSED: Final = b"HTTP/1.1 502 no pod serves there\r\n\r\n"

ACCEPTED: Final = b"HTTP/1.1 200 OK\r\n\r\n"


class ServiceNetwork:
    """Connects the API server to what runs behind the Services of one cluster.

    Args:
        admin: reads the Services.
        directory: the cluster's, in which the API server runs.
        serving: the port on the loopback that serves a port of a Service; None where no pod does.
    """

    def __init__(self, admin: KubeApi, directory: Path, serving: Callable[[Object, int], int | None]) -> None:
        self._admin = admin
        self._directory = directory
        self._serving = serving

    async def run(self) -> None:
        """Serve until cancelled."""
        path = self._directory / SERVICE_SOCKET
        path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        folder = os.open(self._directory, os.O_RDONLY)
        try:
            # What a kernel takes for the path of a socket is short.
            short = OPEN_FILES / str(folder) / SERVICE_SOCKET if OPEN_FILES.is_dir() else path
            listening.bind(str(short))
        finally:
            os.close(folder)
        server = await asyncio.start_unix_server(self._connect, sock=listening)
        async with server:
            await server.serve_forever()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            address, _, port = head.split(b" ", 2)[1].decode().rpartition(":")
            reached = await self._reach(address, int(port))
            if reached is None:
                writer.write(REFUSED)
                await writer.drain()
                return
            inner_reader, inner_writer = await asyncio.open_connection(LOOPBACK, reached)
            writer.write(ACCEPTED)
            with contextlib.closing(inner_writer):
                await asyncio.gather(_pipe(reader, inner_writer), _pipe(inner_reader, writer))

    async def _reach(self, address: str, port: int) -> int | None:
        services: list[Object] = (await self._admin.list("v1", "Service"))["items"]
        found = next((item for item in services if item["spec"].get("clusterIP") == address), None)
        return None if found is None else self._serving(found, port)


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what one side says until it ends."""
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


# Slices of a driver that left a node: the kubelet removes them after a while, unless the driver returns.
#
# How the real one does it: https://github.com/kubernetes/kubernetes, `pkg/kubelet/cm/dra/plugin`
# (wiping delay 30 s).


class SliceWiper:
    """Removes what unregistered drivers left behind, `delay` seconds after they left."""

    def __init__(
        self, identities: Identities, view: ClusterView, queue: WorkQueue, machines: Machines, delay: float
    ) -> None:
        self._identities = identities
        self._view = view
        self._queue = queue
        self._machines = machines
        self._delay = delay
        self._since: dict[tuple[str, str], float] = {}

    async def reconcile(self, node: str) -> None:
        """Look at the slices of one node."""
        now = asyncio.get_running_loop().time()
        present = {item["spec"]["driver"] for item in self._view.slices.at(node)}
        served = {plugin.driver for pod in self._view.pods_on(node) for plugin in plugins_of(pod)}
        served -= {*self._machines.faults(node).crashing} if node in self._machines else set()
        for driver in present - served:
            since = self._since.setdefault((node, driver), now)
            if now - since >= self._delay:
                await self._wipe(node, driver)
            else:
                self._queue.add_later(Key(SLICES, node), self._delay - (now - since))
        for driver in served | {name for owner, name in self._since if owner == node and name not in present}:
            self._since.pop((node, driver), None)

    async def _wipe(self, node: str, driver: str) -> None:
        kubelet = self._identities.kubelet(node)
        for item in self._view.slices_of(node, driver):
            await kubelet.delete(RESOURCE_API, "ResourceSlice", item["metadata"]["name"])


async def run(
    admin: KubeApi,
    kubeconfig: Path,
    hardware: ClusterHardware,
    stop: asyncio.Event,
    own: OwnPlace,
    *,
    changes: asyncio.Queue[ClusterHardware] | None = None,
) -> None:
    """Stand for the machines of one cluster until `stop` is set.

    Args:
        admin: a connection as cluster administrator; the agent joins nodes with it and impersonates kubelets.
        kubeconfig: of the same cluster, for its address and CA.
        hardware: the machines.
        stop: ends it; nothing in the cluster is removed.
        own: where drivers' own programs run.
        changes: says which machines there are from then on, each time some came, went or changed.
    """
    hosts = {host.name: host for host in hardware.hosts()}
    queue = WorkQueue()
    view = ClusterView(admin, queue, hosts)
    identities = Identities(admin, kubeconfig)
    machines = Machines(admin, identities, view, queue, hosts)
    processes = PodProcesses(own, identities)
    controllers = Controllers(identities, view, queue, machines, processes=processes)
    programs = [
        controllers,
        *(
            made(identities, view, queue, machines)
            for side in node_sides().values()
            for made in side.programs
        ),
    ]
    services = ServiceNetwork(admin, own.directory, controllers.serving)
    joiner = NodeJoiner(admin, hosts, hardware.kubernetes, view.pods_on, machines)
    own_programs = OwnPrograms(processes, queue)
    plugins = NodePlugins(admin, identities, view, machines, own_programs)
    kubelets = Kubelets(
        identities, view, queue, machines=machines, plugins=plugins, own=own_programs, programs=programs
    )
    wiper = SliceWiper(identities, view, queue, machines, hardware.slice_wiping_seconds)

    async def join(node: str) -> None:
        await machines.reconcile(node)
        await joiner.reconcile(node, view.nodes.objects.get(node))

    async def wipe(node: str) -> None:
        if not machines.is_down(node):
            await wiper.reconcile(node)

    names = ClaimNames(admin, view)
    handlers = {NODE: join, POD: kubelets.reconcile, CLAIM_NAMES: names.reconcile, SLICES: wipe}

    async def work() -> None:
        for informer in view.informers:
            await informer.synced.wait()
        processes.end_others(view.pods.objects.values())
        for name in hosts:
            queue.add(Key(NODE, name))
            queue.add(Key(SLICES, name))
        await queue.run(lambda key: handlers[key.work](key.name))

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(informer.run()) for informer in view.informers]
            tasks += [group.create_task(work()), group.create_task(own_programs.follow(view.wake_plugins))]
            tasks.append(group.create_task(services.run()))
            if changes is not None:
                tasks.append(group.create_task(_follow(changes, joiner, queue)))
            await stop.wait()
            for task in tasks:
                task.cancel()
    finally:
        await asyncio.gather(*(part.close() for part in (*programs, own_programs)))
        await identities.close()


async def _follow(changes: asyncio.Queue[ClusterHardware], joiner: NodeJoiner, queue: WorkQueue) -> None:
    while True:
        fresh = {host.name: host for host in (await changes.get()).hosts()}
        for name in joiner.exchange(fresh):
            queue.add(Key(NODE, name))
            queue.add(Key(SLICES, name))
