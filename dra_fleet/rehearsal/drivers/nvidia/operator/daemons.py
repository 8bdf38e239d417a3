"""What the operator's running pods do, again and again, each with its own pod's token."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from dra_fleet.clusters.client import ApiError
from dra_fleet.clusters.informer import Informer, key_of
from dra_fleet.rehearsal.agent import driver_pod
from dra_fleet.rehearsal.agent.events import PodEvents
from dra_fleet.rehearsal.agent.identity import PodConnection
from dra_fleet.rehearsal.agent.view import POD
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers.nvidia.operator import discovery, labels, operator, policy, starting
from dra_fleet.rehearsal.drivers.nvidia.operator.mig_manager import MigManager
from dra_fleet.rehearsal.drivers.nvidia.operator.roles import Role, role_of

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.machines import Machines
    from dra_fleet.rehearsal.agent.view import ClusterView
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = 5.0
FORBIDDEN: Final = 403


class Daemons:
    """The operator's pods on simulated machines.

    Args:
        identities: pods act with their own tokens, and kubelets report about them.
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
        self._mig = MigManager(identities, view, machines)
        self._watches: dict[str, asyncio.Task[None]] = {}

    async def close(self) -> None:
        """End the watches."""
        for task in self._watches.values():
            task.cancel()
        await asyncio.gather(*self._watches.values(), return_exceptions=True)

    def forget(self, pod: Object) -> None:
        """A pod is gone."""
        task = self._watches.pop(pod["metadata"]["uid"], None)
        if task is not None:
            task.cancel()

    async def reconcile(self, pod: Object) -> None:
        """Start a pod if it does not run; else let it do its work once."""
        node = pod["spec"]["nodeName"]
        installed, host = self._machines.installed(node), self._machines.host(node)
        if role_of(pod) is Role.DRIVER and installed.nvidia:
            await self._leave_to_host(pod)
            return
        outcome = starting.start(pod, installed, host, self._view.pods_on(node))
        status = driver_pod.status_of(pod, outcome)
        if not driver_pod.shows(pod, status):
            await self._report(pod, status, outcome.problem)
        if outcome.problem:
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)
            return
        try:
            await self._work(pod)
        except ApiError as error:
            if error.code != FORBIDDEN:
                raise
            await self._events.record(node, pod, "Forbidden", error.message)
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)

    async def _report(self, pod: Object, status: Object, problem: str | None) -> None:
        meta, node = pod["metadata"], pod["spec"]["nodeName"]
        await self._identities.kubelet(node).merge(
            "v1", "Pod", meta["name"], {"status": status}, namespace=meta["namespace"], subresource="status"
        )
        if problem:
            reason = "FailedCreatePodSandBox" if "sandbox" in problem else "BackOff"
            await self._events.record(node, pod, reason, problem)

    async def _leave_to_host(self, pod: Object) -> None:
        """The driver manager found a driver on the host: it says so, and the pod leaves the node."""
        api = await self._identities.pod(pod)
        patch = {"metadata": {"labels": {f"{labels.DEPLOY}driver": labels.PRE_INSTALLED}}}
        await api.merge("v1", "Node", pod["spec"]["nodeName"], patch)

    async def _work(self, pod: Object) -> None:
        match role_of(pod):
            case Role.OPERATOR:
                self._watch_policy(pod)
                api = await self._identities.pod(pod)
                version = pod["spec"]["containers"][0]["image"].rpartition(":")[2]
                await operator.reconcile(api, pod["metadata"]["namespace"], version)
            case Role.NFD_WORKER:
                found = self._machines.host(pod["spec"]["nodeName"])
                others = list(self._view.pods_on(found.name))
                if await discovery.publish(await self._identities.pod(pod), pod, found, others):
                    self._view.wake_cluster_wide()
            case Role.NFD_MASTER:
                await discovery.label_nodes(await self._identities.pod(pod))
            case Role.MIG_MANAGER:
                await self._run_mig_manager(pod)
            case _:
                return

    async def _run_mig_manager(self, pod: Object) -> None:
        trouble = await self._mig.reconcile(pod)
        if trouble:
            await self._events.record(pod["spec"]["nodeName"], pod, "MigConfig", trouble)

    def _watch_policy(self, pod: Object) -> None:
        """Follow the ClusterPolicy as the operator does, to see changes when they are made."""
        uid = pod["metadata"]["uid"]
        if uid in self._watches:
            return
        key = Key(POD, key_of(pod))
        source = PodConnection(self._identities, pod)
        informer = Informer(source, policy.API, policy.KIND, lambda _: self._queue.add(key))
        self._watches[uid] = asyncio.create_task(informer.run(), name=f"policy/{uid}")
