"""One cluster's agent: starts the informers and the workers, and stops them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dra_fleet.rehearsal.agent.claim_names import ClaimNames
from dra_fleet.rehearsal.agent.identity import Identities
from dra_fleet.rehearsal.agent.kubelet import Kubelets
from dra_fleet.rehearsal.agent.machines import Machines
from dra_fleet.rehearsal.agent.node_plugins import NodePlugins
from dra_fleet.rehearsal.agent.nodes import NodeJoiner
from dra_fleet.rehearsal.agent.own.processes import PodProcesses
from dra_fleet.rehearsal.agent.own.programs import OwnPrograms
from dra_fleet.rehearsal.agent.services import ServiceNetwork
from dra_fleet.rehearsal.agent.view import CLAIM_NAMES, NODE, POD, SLICES, ClusterView
from dra_fleet.rehearsal.agent.wiping import SliceWiper
from dra_fleet.rehearsal.agent.work_queue import Key, WorkQueue
from dra_fleet.rehearsal.drivers import node_sides
from dra_fleet.rehearsal.queueing.controller import QueueController

if TYPE_CHECKING:
    from pathlib import Path

    from dra_fleet.clusters.client import KubeApi
    from dra_fleet.rehearsal.world.hardware import ClusterHardware
    from dra_fleet.rehearsal.world.served_by import OwnPlace


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
    queueing = QueueController(identities, view, queue, machines, processes=processes)
    programs = [
        queueing,
        *(
            made(identities, view, queue, machines)
            for side in node_sides().values()
            for made in side.programs
        ),
    ]
    services = ServiceNetwork(admin, own.directory, queueing.serving)
    joiner = NodeJoiner(admin, hosts, hardware.kubernetes, view.pods_on, machines)
    own_programs = OwnPrograms(processes, queue)
    plugins = NodePlugins(admin, identities, view, machines, own_programs)
    kubelets = Kubelets(
        identities, view, queue, machines=machines, plugins=plugins, own=own_programs, programs=programs
    )
    wiper = SliceWiper(identities, view, queue, hardware.slice_wiping_seconds)

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
