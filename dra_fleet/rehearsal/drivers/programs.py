"""Programs that a driver runs in pods in addition to its node plugins."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dra_fleet.clusters.informer import Informer, key_of
from dra_fleet.rehearsal.agent.events import PodEvents
from dra_fleet.rehearsal.agent.identity import PodConnection
from dra_fleet.rehearsal.agent.view import POD
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.simulator.processes import cancel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.machines import Machines
    from dra_fleet.rehearsal.agent.view import ClusterView
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue


class Programs:
    """Programs of a driver in the pods of one cluster: they do to it what the real ones do.

    Args:
        identities: the pods act with their own tokens, and kubelets report about them.
        view: what there is.
        queue: where to ask for another try.
        machines: where the pods run.
    """

    def __init__(
        self, identities: Identities, view: ClusterView, queue: WorkQueue, machines: Machines
    ) -> None:
        self._identities = identities
        self._view = view
        self._queue = queue
        self._machines = machines
        self._events = PodEvents(identities)
        self._watches: dict[str, list[asyncio.Task[None]]] = {}

    def starts(self, pod: Object) -> bool:
        """Return whether `reconcile` starts a pod and reports the result instead of its kubelet."""
        del pod
        return False

    async def reconcile(self, pod: Object) -> None:
        """Start a pod if it does not run; else let it do its work once."""
        del pod

    async def before(self, pod: Object) -> None:
        """Do what is there before a pod that its kubelet runs is ready."""
        del pod

    async def keep(self, pod: Object) -> None:
        """Let a pod that its kubelet runs do its work once."""
        del pod

    async def leave(self, pod: Object) -> None:
        """Let a pod with claims take its leave before they are unprepared."""
        del pod

    async def close(self) -> None:
        """End the watches."""
        await cancel(task for found in self._watches.values() for task in found)

    def forget(self, pod: Object) -> None:
        """Forget a deleted pod."""
        for task in self._watches.pop(pod["metadata"]["uid"], []):
            task.cancel()

    def _watch(self, pod: Object, collections: Iterable[tuple[str, str, str | None]]) -> None:
        """Follow collections as a pod does, to see changes when they are made.

        `collections`: apiVersion, kind and namespace of each; None for all namespaces.
        """
        uid = pod["metadata"]["uid"]
        if uid in self._watches:
            return
        key = Key(POD, key_of(pod))
        self._watches[uid] = [
            asyncio.create_task(
                Informer(
                    PodConnection(self._identities, pod, namespace), api, kind, lambda _: self._queue.add(key)
                ).run(),
                name=f"{kind}/{uid}",
            )
            for api, kind, namespace in collections
        ]
