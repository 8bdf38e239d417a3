"""Programs that run as their pods' containers would: started with the pod's own token, kept up, and ended.

Each is recorded like a control plane's component, so that nothing of it outlives the rehearsal.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet.rehearsal.simulator.controlplane.ending import end_components
from dra_fleet.rehearsal.simulator.controlplane.kubeconfig import token_kubeconfig
from dra_fleet.rehearsal.simulator.controlplane.supervisor import ComponentPlace, Supervisor
from dra_fleet.rehearsal.simulator.files import last_lines, write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.simulator.controlplane.components import Command
    from dra_fleet.rehearsal.simulator.processes import ProcessId
    from dra_fleet.rehearsal.simulator.served_by import OwnPlace

PREFIX: Final = "driver"


class NotUp(Exception):  # noqa: N818 - a state to show, not a bug
    """A program runs and does not serve yet; the message says why."""


class Crashed(Exception):  # noqa: N818 - a state to show, not a bug
    """A program has ended; the message is what it said last."""


class PodProgram(Struct, frozen=True):
    """A program that is kept up, with a growing pause."""

    supervisor: Supervisor
    task: asyncio.Task[None]

    def process(self) -> ProcessId:
        """Return the running process.

        Raises:
            Crashed: it has ended; it is started again later.
            NotUp: it has not been started yet.
        """
        if self.supervisor.process is not None:
            return self.supervisor.process
        if self.supervisor.ends:
            raise Crashed(_last_words(self.supervisor.place.log) or str(self.supervisor.last_end))
        raise NotUp("its program starts")


class PodProcesses:
    """Common operations on all programs of pods.

    Args:
        place: where they run.
        identities: give them their pods' tokens.
    """

    def __init__(self, place: OwnPlace, identities: Identities) -> None:
        self.place = place
        self._identities = identities
        self._ending: set[str] = set()

    def start(
        self,
        component: str,
        directory: Path,
        log: str,
        command: Callable[[], Command],
        changed: Callable[[], None],
    ) -> PodProgram:
        """Keep a program up.

        Args:
            component: its record's name below `PREFIX`.
            directory: where it runs.
            log: its log's name.
            command: asked for the command before every start.
            changed: called when it has started or ended.
        """
        place = ComponentPlace(
            cluster=self.place.cluster,
            component=f"{PREFIX}/{component}",
            directory=directory,
            log=self.place.directory / "logs" / f"{log}.log",
        )
        supervisor = Supervisor(place, self.place.store, command, changed)
        name = f"{place.cluster}/{place.component}"
        return PodProgram(supervisor, asyncio.create_task(supervisor.run(), name=name))

    def stop(self, program: PodProgram) -> None:
        """End a program and keep it up no longer."""
        program.task.cancel()
        self.end([program.supervisor.place.component])

    def end(self, components: Iterable[str]) -> None:
        """End programs by the names of their records."""
        recorded = self.place.store.processes(self.place.cluster)
        ending = {key: process for key, process in recorded.items() if key[1] in set(components)}
        if not ending:
            return
        names = {component for _, component in ending}
        self._ending |= names
        ended = asyncio.get_running_loop().run_in_executor(None, self._end_processes, ending)
        ended.add_done_callback(lambda _: self._ending.difference_update(names))

    def ends(self, place: str) -> bool:
        """Return whether a program whose record's name begins with `place` has not ended yet."""
        return any(component.startswith(place) for component in self._ending)

    def end_others(self, pods: Iterable[Object]) -> None:
        """End the programs that an agent before this one left for pods that are gone."""
        alive = {pod["metadata"]["uid"] for pod in pods}
        recorded = [name for _, name in self.place.store.processes(self.place.cluster)]
        self.end(
            [name for name in recorded if name.startswith(f"{PREFIX}/") and name.split("/")[-1] not in alive]
        )

    def kubeconfig(self, pod: Object) -> Path:
        """Return the kubeconfig for a pod's programs."""
        return self.place.directory / "nodes" / f"{pod['metadata']['uid']}.kubeconfig"

    async def write_token(self, pod: Object) -> None:
        """Write a pod's kubeconfig, with a token that is still good.

        Raises:
            NotUp: the API server has no address yet.
            ApiError: the pod may have no token.
        """
        server, authority, kubeconfig = self.place.server(), self.place.authority(), self.kubeconfig(pod)
        if server is None or authority is None:
            raise NotUp("the API server has no address yet")
        kubeconfig.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        token = kubeconfig.with_suffix(".token")
        write_private(token, await self._identities.token(pod))
        write_private(kubeconfig, token_kubeconfig(server, authority, token))

    def _end_processes(self, ending: Mapping[tuple[str, str], ProcessId]) -> None:
        end_components(ending)
        for cluster, component in ending:
            self.place.store.clear_process(cluster, component)


def _last_words(log: Path) -> str:
    lines = [line for line in last_lines(log).splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""
