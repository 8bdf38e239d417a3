"""What the operator's running pods do, again and again, each with its own pod's token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.clusters.api_errors import ApiError
from dra_fleet.clusters.informer import key_of
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.drivers.nvidia.simulation.operator import discovery, labels, operator, policy, starting
from dra_fleet.drivers.nvidia.simulation.operator.mig_manager import MigManager
from dra_fleet.drivers.nvidia.simulation.operator.roles import Role, role_of
from dra_fleet.rehearsal.agent import driver_pod
from dra_fleet.rehearsal.agent.view import POD
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers.programs import Programs

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.machines import Machines
    from dra_fleet.rehearsal.agent.view import ClusterView
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue

RETRY_SECONDS: Final = 5.0
FORBIDDEN: Final = 403


class Daemons(Programs):
    """The operator's pods on simulated machines.

    Args:
        identities: pods act with their own tokens, and kubelets report about them.
        view: what there is.
        queue: where to ask for another try.
        machines: where the pods run.
    """

    @override
    def __init__(
        self, identities: Identities, view: ClusterView, queue: WorkQueue, machines: Machines
    ) -> None:
        super().__init__(identities, view, queue, machines)
        self._mig = MigManager(identities, view, machines)

    @override
    def starts(self, pod: Object) -> bool:
        return role_of(pod) is not None

    @override
    async def reconcile(self, pod: Object) -> None:
        node = pod["spec"]["nodeName"]
        installed, host = self._machines.installed(node), self._machines.host(node)
        if role_of(pod) is Role.DRIVER and parts_of(installed).nvidia:
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
        await self._identities.report(pod, status)
        if problem:
            reason = "FailedCreatePodSandBox" if "sandbox" in problem else "BackOff"
            await self._events.record(pod["spec"]["nodeName"], pod, reason, problem)

    async def _leave_to_host(self, pod: Object) -> None:
        """The driver manager found a driver on the host: it says so, and the pod leaves the node."""
        api = await self._identities.pod(pod)
        patch = {"metadata": {"labels": {f"{labels.DEPLOY}driver": labels.PRE_INSTALLED}}}
        await api.merge("v1", "Node", pod["spec"]["nodeName"], patch)

    async def _work(self, pod: Object) -> None:
        match role_of(pod):
            case Role.OPERATOR:
                self._watch(pod, [(policy.API, policy.KIND, None)])
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
