"""What every simulated cloud answers; the world's API and the plugins know no more than this."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.rehearsal.clouds.values import Properties


@dataclass(frozen=True, kw_only=True)
class PluginResource:
    """A resource as a plugin speaks of it.

    `urn` names the declaration, `name` is its last part; `config` are the settings of its provider;
    `identifier` is the cloud's own, empty before there is one.
    """

    type: str
    urn: str
    config: Properties
    identifier: str = ""

    @property
    def name(self) -> str:
        """The resource's name in the program."""
        return self.urn.rsplit("::", 1)[-1]


@dataclass(frozen=True, kw_only=True)
class WrongInput:
    """One input that is wrong; `path` is empty where it concerns all."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class CheckedInputs:
    """Completed inputs and what is wrong with them."""

    inputs: Properties
    failures: list[WrongInput] = field(default_factory=list[WrongInput])


@dataclass(frozen=True, kw_only=True)
class UpdateDiff:
    """What an update would do.

    Attributes:
        changed: the changed paths.
        replacing: those of them that need a new resource.
        beside: whether the new one is made beside the old: they have different ids.
    """

    changed: list[str]
    replacing: list[str]
    beside: bool = False


@dataclass(frozen=True, kw_only=True)
class Found:
    """A resource as it is."""

    identifier: str
    state: Properties
    inputs: Properties


class SimulatedCloud(Protocol):
    """One simulated cloud. Every method raises `WorldError` with what the user must read."""

    def check(
        self, resource: PluginResource, olds: Properties, news: Properties, digits: str
    ) -> CheckedInputs:
        """Complete and check inputs; `digits` are random, for made names."""
        ...

    def diff(self, resource: PluginResource, olds: Properties, news: Properties) -> UpdateDiff:
        """Compare old and new inputs."""
        ...

    async def create(self, resource: PluginResource, inputs: Properties, *, preview: bool) -> Found:
        """Make a resource; in a preview say only what is known in advance."""
        ...

    async def read(self, resource: PluginResource) -> Found | None:
        """A resource as it is, None where it is gone."""
        ...

    async def update(
        self, resource: PluginResource, olds: Properties, news: Properties, *, preview: bool
    ) -> Found:
        """Change a resource."""
        ...

    async def delete(self, resource: PluginResource) -> None:
        """Delete a resource; harmless where it is gone."""
        ...

    async def invoke(self, token: str, arguments: Properties, config: Properties) -> Properties:
        """Answer a function."""
        ...

    def configure(self, settings: Mapping[str, object]) -> None:
        """Take the rehearsal's settings of this cloud: limits that provoke its refusals."""
        ...

    async def start_ahead(self, name: str, minor: str) -> None:
        """Start the control plane of a cluster it will be asked for; returns at once."""
        ...

    def command(self, words: Sequence[str]) -> object:
        """What the cloud's command line prints, as JSON."""
        ...

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """A token for the credential helper: `token` and `expirationTimestamp`."""
        ...
