"""How a cloud is simulated: one value for each, which session, world and plugin ask; loading it is cheap."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from dra_fleet import clouds
from dra_fleet.facts.parts import PartMissing, part
from dra_fleet.plain import dataclass
from dra_fleet.rehearsal.world.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Callable
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


@dataclass(frozen=True, kw_only=True)
class CloudSimulation:
    """One cloud's simulation. Its heavier parts are named, and resolved on use.

    Attributes:
        simulated: Where its `SimulatedCloud` is, such as "package.module:Class".
        limits: Where the model of its limits in hardware files is, in the same form.
        plugin: The plugin of its resources.
        helper: The module of the credential helper that its clusters' kubeconfigs call: `main` takes the
            world's socket and the command's arguments. Standard library only.
    """

    simulated: str
    limits: str
    plugin: CloudPlugin
    helper: str

    def start(self, store: Store, planes: ManagedControlPlanes) -> SimulatedCloud:
        """The cloud in one world."""
        begin = cast(
            "Callable[[Store, ManagedControlPlanes], SimulatedCloud]",
            self._part("simulated cloud", self.simulated),
        )
        return begin(store, planes)

    def limits_model(self) -> type[BaseModel]:
        """The model of its limits."""
        return cast("type[BaseModel]", self._part("limits", self.limits))

    def helper_module(self) -> ModuleType:
        """The credential helper."""
        self._part("credential helper", f"{self.helper}:main")
        return sys.modules[self.helper]

    def _part(self, what: str, place: str) -> object:
        module, _, constant = place.partition(":")
        return part(f"the simulation behind plugin {self.plugin.name} has no {what}", module, constant)


def simulation_of(cloud: str) -> CloudSimulation:
    """How the cloud of this name is simulated.

    Raises:
        InvalidRequestError: there is no such cloud, or nobody has written its simulation.
    """
    try:
        return cast("CloudSimulation", clouds.named(cloud).simulation)
    except (LookupError, PartMissing) as absent:
        raise InvalidRequestError(str(absent)) from absent
