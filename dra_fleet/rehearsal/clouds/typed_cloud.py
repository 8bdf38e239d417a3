"""Base of the simulated clouds: passes each resource to its type, and records it in the account."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from dra_fleet.rehearsal.clouds.cloud import (
    ApiReply,
    CloudRefusal,
    Found,
    TypeNotCoveredError,
    UpdateDiff,
    WrongInput,
    changed_paths,
    has_unknown,
)
from dra_fleet.rehearsal.clouds.scaling import SCALED, seen_by_plugins

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from dra_fleet.rehearsal.clouds.account import CloudAccount, Record
    from dra_fleet.rehearsal.clouds.cloud import PluginResource, Properties
    from dra_fleet.rehearsal.clouds.scaling import ScaledPool


class ResourceType(Protocol):
    """A resource type. `replacing` are paths that require a new resource."""

    @property
    def required(self) -> tuple[str, ...]: ...

    @property
    def replacing(self) -> frozenset[str]: ...

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """List the inputs that do not fit the type's model."""
        ...

    async def create(self, record: Record) -> None:
        """Make true what a record says, and complete its outputs."""
        ...

    async def update(self, record: Record, news: Properties) -> None:
        """Change a resource and its record."""
        ...

    async def delete(self, record: Record) -> None:
        """Take down what belongs to the resource."""
        ...


Account = TypeVar("Account", bound="CloudAccount[Any]")
Kind = TypeVar("Kind", bound=ResourceType)


class TypedCloud(ABC, Generic[Account, Kind]):
    """See `dra_fleet.rehearsal.clouds.cloud.SimulatedCloud`; what differs between clouds is left to them."""

    def __init__(self, account: Account, types: Mapping[str, Kind]) -> None:
        self.account = account
        self._types = types
        self._calls = 0
        self._resizing = asyncio.Lock()

    @abstractmethod
    def identify(self, resource: PluginResource, inputs: Properties) -> str:
        """Return the id for a resource to be created."""

    @abstractmethod
    def begun(self, resource: PluginResource) -> Record:
        """Return the additional fields in the record of a resource to be created."""

    @abstractmethod
    def taken(self, identifier: str) -> CloudRefusal:
        """Build the refusal for an id that another declaration's resource has."""

    @abstractmethod
    def absent(self, identifier: str) -> CloudRefusal:
        """Build the refusal for a resource that does not exist."""

    def foreseen(self, resource: PluginResource, inputs: Properties) -> Properties:
        """Return the outputs of a preview: the known inputs."""
        del resource
        return {key: value for key, value in inputs.items() if not has_unknown(value)}

    def diff(self, resource: PluginResource, olds: Properties, news: Properties) -> UpdateDiff:
        """Compare old and new inputs."""
        places = self.kind_of(resource).replacing
        changed = changed_paths(olds, news)
        return UpdateDiff(changed=changed, replacing=[path for path in changed if _is_below(path, places)])

    async def create(self, resource: PluginResource, inputs: Properties, *, preview: bool) -> Found:
        """Make a resource.

        The same declaration may create its resource again: an engine that was killed does. The real provider
        refuses that and requires an import; a rehearsal continues.

        Raises:
            CloudRefusal: another declaration's resource has its id, or its type says no.
        """
        kind = self.kind_of(resource)
        if preview:
            return Found(identifier="", state=self.foreseen(resource, inputs), inputs=inputs)
        identifier = self.identify(resource, inputs)
        async with self._call():
            present = self.account.find(resource.type, identifier)
            if present is not None and (present["urn"], seen_by_plugins(present["inputs"])) != (
                resource.urn,
                inputs,
            ):
                raise self.taken(identifier)
            about = {"id": identifier, "type": resource.type, "urn": resource.urn, "inputs": inputs}
            record = present or {**about, **self.begun(resource)}
            await kind.create(record)
        return _found(record)

    async def read(self, resource: PluginResource) -> Found | None:
        """Read a resource; return None if it was deleted."""
        self.kind_of(resource)
        record = self.account.find(resource.type, resource.identifier)
        return _found(record) if record else None

    async def update(
        self, resource: PluginResource, olds: Properties, news: Properties, *, preview: bool
    ) -> Found:
        """Change a resource.

        Raises:
            CloudRefusal: it is not there, or its type says no.
        """
        del olds
        kind = self.kind_of(resource)
        if preview:
            record = self.require(resource.type, resource.identifier)
            return Found(identifier=record["id"], state={**record["state"], **news}, inputs=news)
        async with self._call():
            record = self.require(resource.type, resource.identifier)
            remembered = {SCALED: record["inputs"][SCALED]} if SCALED in record["inputs"] else {}
            await kind.update(record, {**news, **remembered})
        return _found(record)

    async def delete(self, resource: PluginResource) -> None:
        """Delete a resource; harmless where it is gone."""
        kind = self.kind_of(resource)
        async with self._call():
            record = self.account.find(resource.type, resource.identifier)
            if record is not None:
                await kind.delete(record)
                self.account.remove(record)

    def scaled_pools(self) -> list[ScaledPool]:
        """Return the pools that the cloud was asked to scale; clouds without an autoscaler have none."""
        return []

    async def resize(self, pool: ScaledPool, gone: int | None = None, more: int = 1) -> bool:
        """Add machines to a pool or remove one.

        Args:
            pool: As `scaled_pools` returned it.
            gone: Number of the machine to remove; None adds.
            more: How many machines are added, all or none.

        Returns:
            False if an operation is running or has changed the pool.

        Raises:
            CloudRefusal: The cloud has no such machine, or the quota is used up.
        """
        async with self._resizing:
            now = next((one for one in self.scaled_pools() if one.key == pool.key), None)
            if self._calls or now is None or now.machines.keys() != pool.machines.keys():
                return False
            size = len(now.machines) + (more if gone is None else -1)
            record = self.require(*now.resource)
            await self._types[now.resource[0]].update(record, now.inputs_with(size, gone))
            return True

    @asynccontextmanager
    async def _call(self) -> AsyncGenerator[None]:
        """Wait until the autoscaler has finished, and let it wait in turn."""
        async with self._resizing:
            self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1

    def command(self, words: Sequence[str]) -> object:
        """Return the output of the cloud's command line; most clouds simulate no command."""
        raise CloudRefusal(
            f"(rehearsal) of {self.account.title} no command line is simulated: {' '.join(words)}"
        )

    async def answer_api(self, path: str, headers: Mapping[str, str], body: bytes) -> ApiReply:
        """Answer a request to the cloud's own API; most clouds simulate none."""
        del headers, body
        text = f"(rehearsal) of {self.account.title} no API is simulated: {path}"
        return ApiReply(status=501, content_type="text/plain", body=text.encode())

    async def start_ahead(self, name: str, minor: str) -> None:
        """Start the control plane of a cluster it will be asked for, see its account."""
        await self.account.start_ahead(name, minor)

    def configure(self, settings: Mapping[str, object]) -> None:
        """Take the rehearsal's settings of this cloud, see its account."""
        self.account.configure(settings)

    def require(self, kind: str, identifier: str) -> Record:
        """Return the record of a resource.

        Raises:
            CloudRefusal: there is none.
        """
        record = self.account.find(kind, identifier)
        if record is None:
            raise self.absent(identifier)
        return record

    def kind_of(self, resource: PluginResource) -> Kind:
        """Return a resource's type.

        Raises:
            TypeNotCoveredError: this cloud does not simulate it.
        """
        try:
            return self._types[resource.type]
        except KeyError:
            title, known = self.account.title, list(self._types)
            raise TypeNotCoveredError(title, "resource type", resource.type, known) from None


def made_of(resource: PluginResource, region: str, inputs: Properties) -> str:
    """Return the input of a generated id: another declaration, region or input gets another id."""
    return f"{resource.urn} {region} {json.dumps(inputs, sort_keys=True)}"


def missing_faults(kind: ResourceType, inputs: Properties) -> list[WrongInput]:
    """List a failure for each required input that is missing."""
    missing = [key for key in kind.required if inputs.get(key) is None]
    return [WrongInput(path=key, reason=f"missing required property '{key}'") for key in missing]


def _is_below(path: str, places: frozenset[str]) -> bool:
    return any(
        path == place or path.startswith(f"{place}.") or place.startswith(f"{path}.") for place in places
    )


def _found(record: Record) -> Found:
    return Found(identifier=record["id"], state=record["state"], inputs=seen_by_plugins(record["inputs"]))
