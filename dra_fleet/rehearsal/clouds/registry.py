"""The simulated clouds of one world; each is loaded when it is first asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.rehearsal.clouds.simulation import simulation_of

if TYPE_CHECKING:
    from dra_fleet.rehearsal.clouds.cloud import SimulatedCloud
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.world.store import Store


class SimulatedClouds:
    """The simulated clouds of one world."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        self._store = store
        self._planes = planes
        self._loaded: dict[str, SimulatedCloud] = {}

    def get(self, name: str) -> SimulatedCloud:
        """The cloud of that name.

        Raises:
            InvalidRequestError: there is none, or nobody simulates it.
        """
        if name not in self._loaded:
            self._loaded[name] = simulation_of(name).start(self._store, self._planes)
        return self._loaded[name]
