"""The kubelets of one cluster: they prepare claims, run pods and remove them, and unprepare claims.

Containers, images, CDI and pod networks are not simulated.
How the real one does it: https://github.com/kubernetes/kubernetes, `pkg/kubelet/cm/dra`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dra_fleet.clusters.informer import key_of
from dra_fleet.clusters.pending.state import claim_names
from dra_fleet.rehearsal.agent import driver_pod
from dra_fleet.rehearsal.agent.addresses import PodAddresses
from dra_fleet.rehearsal.agent.claims import claims_to_prepare
from dra_fleet.rehearsal.agent.discovered import Discovered
from dra_fleet.rehearsal.agent.driver_pods import RETRY_SECONDS, DriverPods
from dra_fleet.rehearsal.agent.events import PodEvents
from dra_fleet.rehearsal.agent.node_plugins import RUN
from dra_fleet.rehearsal.agent.view import POD, ends_by_itself, has_claims
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers import plugins_of, start_problem
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.machines import Machines
    from dra_fleet.rehearsal.agent.node_plugins import NodePlugins
    from dra_fleet.rehearsal.agent.own.programs import OwnPrograms
    from dra_fleet.rehearsal.agent.view import ClusterView
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue
    from dra_fleet.rehearsal.drivers.programs import Programs

logger = logging.getLogger(__name__)

FINISH = "rehearsal.dra-fleet/finish"
"""Annotation that lets a running pod's containers end with exit code 0."""
STOP = "rehearsal.dra-fleet/stop"
"""Annotation of a pod that has ended and whose claims are unprepared."""
ENDED = ("Succeeded", "Failed")


class Kubelets:
    """Brings the pods on simulated nodes in order.

    Args:
        identities: all is done as the node's kubelet or as the driver's pod.
        view: what there is.
        queue: where to ask for another try.
        machines: what there is on them.
        plugins: the drivers' node plugins on them.
        own: the drivers' own programs on them.
        programs: what drivers run in pods beside their node plugins.
    """

    def __init__(
        self,
        identities: Identities,
        view: ClusterView,
        queue: WorkQueue,
        *,
        machines: Machines,
        plugins: NodePlugins,
        own: OwnPrograms,
        programs: Sequence[Programs],
    ) -> None:
        self._identities = identities
        self._view = view
        self._queue = queue
        self._machines = machines
        self._programs = programs
        self._events = PodEvents(identities)
        self._plugins = plugins
        self._addresses = PodAddresses(view)
        discovered = Discovered(machines)
        self._drivers = DriverPods(
            identities,
            view,
            queue,
            own=own,
            discovered=discovered,
            addresses=self._addresses,
            events=self._events,
        )
        parts = (identities, *programs, discovered, own, self._addresses)
        view.when_gone += [part.forget for part in parts]

    async def reconcile(self, key: str) -> None:
        """Bring one pod in order."""
        pod = self._view.pods.objects.get(key)
        if pod is None or pod["spec"].get("nodeName") not in self._machines:
            return
        if self._machines.is_down(pod["spec"]["nodeName"]):
            return
        deleting = "deletionTimestamp" in pod["metadata"]
        if deleting or pod.get("status", {}).get("phase") in ENDED:
            await self._end(pod, deleting=deleting)
        elif pod["metadata"].get("annotations", {}).get(RUN) == "true":
            await self._keep(pod)
        else:
            await self._start(pod)

    async def _end(self, pod: Object, *, deleting: bool) -> None:
        """Unprepare the claims of a pod that has ended or must go; one that must go is then removed."""
        meta, kubelet = pod["metadata"], self._identities.kubelet(pod["spec"]["nodeName"])
        if has_claims(pod) and meta.get("annotations", {}).get(STOP) != "true":
            for program in self._programs:
                await program.leave(pod)
            if not await self._unprepare(pod):
                return
            if not deleting:
                await self._report(pod, {}, STOP)
        if deleting:
            at_once = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
            await kubelet.delete("v1", "Pod", meta["name"], meta["namespace"], options=at_once)

    async def _keep(self, pod: Object) -> None:
        """A pod that runs: ready again after its node was not, until it ends."""
        if ends_by_itself(pod) or pod["metadata"]["annotations"].get(FINISH) == "true":
            await self._report(pod, driver_pod.succeeded(pod))
            return
        await self._come_back(pod)
        for program in self._programs:
            await program.keep(pod)

    async def _start(self, pod: Object) -> None:
        host = self._machines.installed(pod["spec"]["nodeName"])
        if program := next((item for item in self._programs if item.starts(pod)), None):
            await program.reconcile(pod)
        elif plugins_of(pod):
            await self._drivers.start(pod)
        elif (failed := start_problem(pod, host)) is not None:
            await self._wait(pod, failed)
        elif not has_claims(pod):
            for part in self._programs:
                await part.before(pod)
            await self._run(pod)
        else:
            await self._prepare(pod)

    async def _run(self, pod: Object) -> None:
        """Report a pod as running; that its claims are prepared is part of the same write."""
        status = driver_pod.status_of(pod, driver_pod.Start(), self._addresses.of(pod))
        await self._report(pod, status, RUN)

    async def _come_back(self, pod: Object) -> None:
        """Report a running pod as ready again after its node was not."""
        status = pod.get("status", {})
        conditions: list[Object] = status.get("conditions", [])
        if status.get("phase") != "Running" or driver_pod.is_ready(pod):
            return
        ready = [
            {**item, "status": "True"} if item["type"] in ("Ready", "ContainersReady") else item
            for item in conditions
        ]
        await self._report(pod, {"conditions": ready})

    async def _report(self, pod: Object, status: Object, *annotations: str) -> None:
        """Write a part of a pod's status as its kubelet, and annotations of its own with it."""
        await self._identities.report(pod, status, dict.fromkeys(annotations, "true"))

    async def _wait(self, pod: Object, outcome: driver_pod.Start) -> None:
        """Say as the kubelet why a pod does not start, and look at it again later."""
        status = driver_pod.status_of(pod, outcome)
        self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)
        if driver_pod.shows(pod, status):
            return
        await self._report(pod, status)
        text = outcome.waiting or "; ".join(outcome.failed.values())
        await self._events.record(pod["spec"]["nodeName"], pod, "BackOff", text)

    async def _prepare(self, pod: Object) -> None:
        """NodePrepareResources for every claim; the pod may run once all succeeded."""
        node = pod["spec"]["nodeName"]
        try:
            for name in claims_to_prepare(pod):
                await self._plugins.prepare(pod, name)
        except PrepareFailed as error:
            text = f"Failed to prepare dynamic resources: prepare dynamic resources: {error}"
            if not pod["status"].get("containerStatuses"):
                await self._report(pod, driver_pod.creating(pod))
            await self._events.record(node, pod, "FailedPrepareDynamicResources", text)
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)
            return
        await self._run(pod)

    async def _unprepare(self, pod: Object) -> bool:
        """NodeUnprepareResources, which needs the driver too; false where it must be tried again."""
        if pod["metadata"].get("annotations", {}).get(RUN) != "true":
            return True  # it never ran, so that nothing has to be undone
        try:
            for name in claim_names(pod):
                await self._plugins.unprepare(pod, name)
        except PrepareFailed as error:
            logger.info("%s stays: %s", key_of(pod), error)  # the real kubelet writes no event either
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)
            return False
        return True
