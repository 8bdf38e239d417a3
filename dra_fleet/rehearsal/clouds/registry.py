"""Which simulated clouds there are; each is loaded when it is first asked."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from dra_fleet.rehearsal.world.errors import InvalidRequestError

if TYPE_CHECKING:
    from dra_fleet.rehearsal.clouds.cloud import SimulatedCloud
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.world.store import Store

CLOUDS: Final = {
    "azure": "dra_fleet.rehearsal.clouds.aks.cloud:SimulatedAks",
    "aws": "dra_fleet.rehearsal.clouds.eks.cloud:SimulatedEks",
    "google": "dra_fleet.rehearsal.clouds.gke.cloud:SimulatedGke",
}


class Clouds:
    """The simulated clouds of one world."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        self._store = store
        self._planes = planes
        self._loaded: dict[str, SimulatedCloud] = {}

    def get(self, name: str) -> SimulatedCloud:
        """The cloud of that name.

        Raises:
            InvalidRequestError: there is none.
        """
        if name not in self._loaded:
            if name not in CLOUDS:
                raise InvalidRequestError(f"no cloud {name!r} is simulated; there are: {', '.join(CLOUDS)}")
            module, _, kind = CLOUDS[name].partition(":")
            self._loaded[name] = getattr(importlib.import_module(module), kind)(self._store, self._planes)
        return self._loaded[name]
