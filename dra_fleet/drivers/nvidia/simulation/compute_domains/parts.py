"""The driver's pods that make ComputeDomains work, each kept at work with its own token once it is ready."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.clusters.api_errors import ApiError
from dra_fleet.clusters.informer import key_of
from dra_fleet.drivers.nvidia.labels import API, KIND
from dra_fleet.drivers.nvidia.simulation.compute_domains import membership
from dra_fleet.drivers.nvidia.simulation.compute_domains.controller import Controller
from dra_fleet.drivers.nvidia.simulation.compute_domains.objects import CLIQUE_KIND, CONTROLLER, DAEMON, runs
from dra_fleet.drivers.nvidia.simulation.gates import feature_gates
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.rehearsal.agent.driver_pod import is_ready
from dra_fleet.rehearsal.agent.view import POD
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers.plugin import StartFailed, environment_of
from dra_fleet.rehearsal.drivers.programs import Programs

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = 1.0
CONFLICT: Final = 409
REFUSED: Final = (403, CONFLICT)
CLIQUES: Final = "ComputeDomainCliques"


class ComputeDomainParts(Programs):
    """Controllers and daemons of ComputeDomains on simulated machines."""

    @override
    async def keep(self, pod: Object) -> None:
        if not is_ready(pod) or crash_of(pod) is not None:
            return
        try:
            if runs(pod, CONTROLLER):
                await self._control(pod)
            elif runs(pod, DAEMON):
                await self._join(pod)
        except ApiError as error:
            if error.code not in REFUSED:
                raise
            if error.code != CONFLICT or error.reason == "AlreadyExists":
                await self._events.record(pod["spec"]["nodeName"], pod, "Failed", error.message)
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)

    @override
    async def leave(self, pod: Object) -> None:
        """A daemon takes its leave; where it cannot, the garbage collector does it after it."""
        if not runs(pod, DAEMON) or crash_of(pod) is not None:
            return
        try:
            api = await self._identities.pod(pod)
            await membership.leave(api, pod, self._clique(pod), by_clique=_has_cliques(pod))
        except ApiError as error:
            logger.info("%s leaves without taking its entry out: %s", key_of(pod), error)

    async def _control(self, pod: Object) -> None:
        environment, cliques = _environment(pod), _has_cliques(pod)
        followed = [
            (API, KIND, None),
            *([(API, CLIQUE_KIND, pod["metadata"]["namespace"])] if cliques else []),
        ]
        self._watch(pod, followed)
        controller = Controller(
            api=await self._identities.pod(pod),
            namespace=pod["metadata"]["namespace"],
            image=pod["spec"]["containers"][0]["image"],
            gates=environment.get("FEATURE_GATES", ""),
            has_cliques=cliques,
            has_daemons=environment.get("IMEX_MODE") != "hostManaged",
        )
        if not await controller.reconcile():
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)

    async def _join(self, pod: Object) -> None:
        api = await self._identities.pod(pod)
        if await membership.join(api, pod, self._clique(pod), by_clique=_has_cliques(pod)):
            self._view.wake_pods_on(pod["spec"]["nodeName"])

    def _clique(self, pod: Object) -> str:
        return parts_of(self._machines.host(pod["spec"]["nodeName"])).clique or ""


def _environment(pod: Object) -> dict[str, str]:
    return environment_of(pod["spec"]["containers"][0])


def _has_cliques(pod: Object) -> bool:
    """Whether the pod's version keeps members in ComputeDomainCliques."""
    version = pod["spec"]["containers"][0]["image"].rpartition(":")[2].removeprefix("v")
    return feature_gates(_environment(pod), version).get(CLIQUES, False)


def crash_of(pod: Object) -> str | None:
    """Why a controller or daemon exits as soon as it starts: its feature gates. None for any other pod."""
    if not (runs(pod, CONTROLLER) or runs(pod, DAEMON)):
        return None
    try:
        _has_cliques(pod)
    except StartFailed as problem:
        return str(problem)
    return None
