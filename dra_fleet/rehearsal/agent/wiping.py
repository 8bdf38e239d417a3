"""Slices of a driver that left a node: the kubelet removes them after a while, unless the driver comes back.

How the real one does it: https://github.com/kubernetes/kubernetes, `pkg/kubelet/cm/dra/plugin`
(wiping delay 30 s).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dra_fleet.rehearsal.agent.view import RESOURCE_API, SLICES
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers import plugins_of

if TYPE_CHECKING:
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.view import ClusterView
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue


class SliceWiper:
    """Removes what unregistered drivers left behind, `delay` seconds after they left."""

    def __init__(self, identities: Identities, view: ClusterView, queue: WorkQueue, delay: float) -> None:
        self._identities = identities
        self._view = view
        self._queue = queue
        self._delay = delay
        self._since: dict[tuple[str, str], float] = {}

    async def reconcile(self, node: str) -> None:
        """Look at the slices of one node."""
        now = asyncio.get_running_loop().time()
        present = {item["spec"]["driver"] for item in self._view.slices.at(node)}
        served = {plugin.driver for pod in self._view.pods_on(node) for plugin in plugins_of(pod)}
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
