"""The base class of a cloud's simulation, and the resource plugin in front of it. Loading it is cheap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from types import ModuleType

    from pydantic import BaseModel

    from dra_fleet.rehearsal.clouds.cloud import SimulatedCloud
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.world.store import Store


@dataclass(frozen=True, kw_only=True)
class CloudPlugin:
    """The resource plugin of a simulated cloud.

    It stands in for the published one of that name and version always, because only the stand-in knows the
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
        """Return the simulated cloud in one world."""

    @abstractmethod
    def limits_model(self) -> type[BaseModel]:
        """Return the model of its limits in hardware files."""

    @abstractmethod
    def helper_module(self) -> ModuleType:
        """Return the module of the credential helper that the kubeconfigs of its clusters call.

        Its `main` gets the world's socket and the command's arguments. It uses the standard library only.
        """
