"""A simulated cloud as plugins see it: properties, refusals and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from msgspec import Struct, field

from dra_fleet.rehearsal.simulator.errors import SimulatorError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.rehearsal.clouds.scaling import ScaledPool

Properties = dict[str, Any]
UNKNOWN_TEXT: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def is_unknown(value: object) -> bool:
    """Return whether this value becomes known only when something is created."""
    return value == UNKNOWN_TEXT


def has_unknown(value: object) -> bool:
    """Return whether a value contains an unknown value at any depth."""
    if isinstance(value, dict):
        return any(has_unknown(item) for item in cast("Properties", value).values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in cast("list[object]", value))
    return is_unknown(value)


def at(value: Any, path: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value at a dotted path; None if there is none, UNKNOWN_TEXT below an unknown value."""
    for key in path.split("."):
        if is_unknown(value):
            return UNKNOWN_TEXT
        if not isinstance(value, dict):
            return None
        value = cast("Properties", value).get(key)
    return value


def changed_paths(old: object, new: object, path: str = "") -> list[str]:
    """Return the dotted paths at which two values differ.

    Lists count as a whole, absent and null are the same.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        olds, news = cast("Properties", old), cast("Properties", new)
        return [
            found
            for key in sorted({*olds, *news})
            for found in changed_paths(olds.get(key), news.get(key), f"{path}.{key}" if path else key)
        ]
    return [] if old == new and not has_unknown(new) else [path]


class CloudRefusal(SimulatorError):  # noqa: N818 - the cloud is right, the request is not
    """The cloud refuses a request; the text is what the user reads."""

    status = 422


class TypeNotCoveredError(SimulatorError):
    """The simulated cloud has no such resource type or function."""

    status = 501

    def __init__(self, cloud: str, what: str, token: str, known: list[str]) -> None:
        super().__init__(
            f"the simulated {cloud} has no {what} {token}; it has: {', '.join(sorted(known))}. "
            "Leave it out of what is rehearsed, or use the published plugin against the real cloud"
        )


class PluginResource(Struct, frozen=True, kw_only=True):
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


class WrongInput(Struct, frozen=True, kw_only=True):
    """A wrong input; `path` is empty if the problem concerns all inputs."""

    path: str
    reason: str


class CheckedInputs(Struct, frozen=True, kw_only=True):
    """Completed inputs and what is wrong with them."""

    inputs: Properties
    failures: list[WrongInput] = field(default_factory=list[WrongInput])


class UpdateDiff(Struct, frozen=True, kw_only=True):
    """Effects of an update.

    Attributes:
        changed: the changed paths.
        replacing: those of them that need a new resource.
        beside: whether the new one is made beside the old: they have different ids.
    """

    changed: list[str]
    replacing: list[str]
    beside: bool = False


class Found(Struct, frozen=True, kw_only=True):
    """A resource as it is."""

    identifier: str
    state: Properties
    inputs: Properties


class ApiReply(Struct, frozen=True, kw_only=True):
    """A reply of a cloud's own API."""

    status: int
    content_type: str
    body: bytes


class SimulatedCloud(Protocol):
    """A simulated cloud. Every method raises `SimulatorError` with a message for the user."""

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
        """Read a resource; return None if it was deleted."""
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

    def scaled_pools(self) -> list[ScaledPool]:
        """Return the pools that the cloud was asked to scale."""
        ...

    async def resize(self, pool: ScaledPool, gone: int | None = None, more: int = 1) -> bool:
        """Add a machine to a pool or remove one; return False if the cloud is at work."""
        ...

    def command(self, words: Sequence[str]) -> object:
        """Return the output of the cloud's command line, as JSON."""
        ...

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """Return a token for the credential helper: `token` and `expirationTimestamp`."""
        ...

    async def answer_api(self, path: str, headers: Mapping[str, str], body: bytes) -> ApiReply:
        """Answer a request to the cloud's own API."""
        ...
