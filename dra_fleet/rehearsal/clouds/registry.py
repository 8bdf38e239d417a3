"""The simulations of clouds by name, and the simulated clouds of one world; each is loaded on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import clouds
from dra_fleet.findings.expected import ExpectedError
from dra_fleet.rehearsal.clouds.simulation import CloudSimulation
from dra_fleet.rehearsal.world.errors import InvalidRequestError

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


def simulation_of(cloud: str) -> CloudSimulation:
    """Return the simulation of a cloud.

    Raises:
        InvalidRequestError: There is no such cloud, or it has no simulation.
    """
    match cloud:
        case "aks":
            from dra_fleet.clouds.aks.simulation import SIMULATION as AKS

            return AKS
        case "eks":
            from dra_fleet.clouds.eks.simulation import SIMULATION as EKS

            return EKS
        case "gke":
            from dra_fleet.clouds.gke.simulation import SIMULATION as GKE

            return GKE
        case "ack":
            from dra_fleet.clouds.ack.simulation import SIMULATION as ACK

            return ACK
        case _:
            return _of_another_package(cloud)


def _of_another_package(cloud: str) -> CloudSimulation:
    try:
        found = clouds.named(cloud).simulation()
    except (LookupError, ExpectedError) as absent:
        raise InvalidRequestError(str(absent)) from absent
    if not isinstance(found, CloudSimulation):
        raise InvalidRequestError(f"cloud {cloud}: simulation() must return a CloudSimulation, got {found!r}")
    return found
