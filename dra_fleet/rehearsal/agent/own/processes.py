"""Programs that run as their pods' containers would: started with the pod's own token, kept up, and ended.

Each is recorded like a control plane's component, so that nothing of it outlives the rehearsal.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from dra_fleet.rehearsal.world.controlplane.ending import end_components
from dra_fleet.rehearsal.world.controlplane.kubeconfig import token_kubeconfig
from dra_fleet.rehearsal.world.files import last_lines, write_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.world.processes import ProcessId
    from dra_fleet.rehearsal.world.served_by import OwnPlace

PREFIX: Final = "driver"


class NotUp(Exception):  # noqa: N818 - a state to show, not a bug
    """A program runs and does not serve yet; the message says why."""


class Crashed(Exception):  # noqa: N818 - a state to show, not a bug
    """A program has ended; the message is what it said last."""


class PodProcesses:
    """What is alike for all programs of pods.

    Args:
        place: where they run.
        identities: give them their pods' tokens.
    """

    def __init__(self, place: OwnPlace, identities: Identities) -> None:
        self.place = place
        self._identities = identities
        self._ending: set[str] = set()

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
        """Whether a program whose record's name begins so has still to end."""
        return any(component.startswith(place) for component in self._ending)

    def end_others(self, pods: Iterable[Object]) -> None:
        """End the programs that an agent before this one left for pods that are gone."""
        alive = {pod["metadata"]["uid"] for pod in pods}
        recorded = [name for _, name in self.place.store.processes(self.place.cluster)]
        self.end(
            [name for name in recorded if name.startswith(f"{PREFIX}/") and name.split("/")[-1] not in alive]
        )

    def kubeconfig(self, pod: Object) -> Path:
        """The kubeconfig that a pod's programs are given."""
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


def last_words(log: Path) -> str:
    """The last line that a program wrote, without the prefix that Go's loggers put before it."""
    lines = [line for line in last_lines(log).splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""
