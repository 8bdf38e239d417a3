"""The simulations of clouds by name, and the resource plugin in front of each. Loading it is cheap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from dra_fleet import clouds
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.rehearsal.simulator.errors import InvalidRequestError

if TYPE_CHECKING:
    from types import ModuleType

    from pydantic import BaseModel

    from dra_fleet.rehearsal.clouds.cloud import SimulatedCloud
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.simulator.store import Store


class CloudPlugin(Struct, frozen=True, kw_only=True):
    """The resource plugin of a simulated cloud.

    It replaces the published one of that name and version always, because only the simulated one knows the
    simulated cloud.

    Attributes:
        name: The published plugin's package.
        version: Of the published plugin whose place it takes, as programs ask for it.
        settings: The provider settings it knows.
        replacing: Those of them without which the provider's resources are others.
        secret_results: The functions whose results are secrets.
    """

    name: str
    version: str
    settings: frozenset[str]
    replacing: frozenset[str] = frozenset()
    secret_results: frozenset[str] = frozenset()


class CloudSimulation(ABC):
    """The simulation of one cloud. Its methods import the heavier parts.

    Attributes:
        plugin: Plugin of its resources.
    """

    plugin: ClassVar[CloudPlugin]

    @abstractmethod
    def start(self, store: Store, planes: ManagedControlPlanes) -> SimulatedCloud:
        """Return the simulated cloud in one simulator."""

    @abstractmethod
    def limits_model(self) -> type[BaseModel]:
        """Return the model of its limits in hardware files."""

    @abstractmethod
    def helper_module(self) -> ModuleType:
        """Return the module of the credential helper that the kubeconfigs of its clusters call.

        Its `main` gets the simulator's socket and the command's arguments. It uses the standard library only.
        """


class SimulatedClouds:
    """The simulated clouds of one simulator."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        self._store = store
        self._planes = planes
        self._loaded: dict[str, SimulatedCloud] = {}

    def all(self) -> list[SimulatedCloud]:
        """Return the clouds that have resources."""
        return [self.get(name) for name in self._store.clouds()]

    def get(self, name: str) -> SimulatedCloud:
        """Return the cloud of that name.

        Raises:
            InvalidRequestError: there is none, or no one simulates it.
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
