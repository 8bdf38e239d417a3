"""The simulated Google Cloud as the world sees it: one answer for each call of a plugin."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from pydantic import ValidationError

from rehearsal.clouds.cloud import Change, Checked, Failure, Found
from rehearsal.clouds.google.account import Account, project_of
from rehearsal.clouds.google.clusters import CLUSTER, POOL, Clusters
from rehearsal.clouds.google.limits import GoogleLimits
from rehearsal.clouds.google.names import cluster_id, name_faults
from rehearsal.clouds.google.node_pools import NodePools
from rehearsal.clouds.google.refusing import refuse
from rehearsal.clouds.refusals import TypeNotCoveredError
from rehearsal.clouds.values import UNKNOWN_TEXT, changed_paths, has_unknown
from rehearsal.world.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rehearsal.clouds.cloud import Resource
    from rehearsal.clouds.clusters import ManagedControlPlanes
    from rehearsal.clouds.google.account import Record
    from rehearsal.clouds.values import Properties
    from rehearsal.world.store import Store

GET_CLUSTER: Final = "gcp:container/getCluster:getCluster"
TOKEN_VALID: Final = timedelta(hours=1)


class ResourceType(Protocol):
    """One type. `replacing` are paths that need a new resource."""

    @property
    def required(self) -> tuple[str, ...]: ...  # noqa: D102 - see above

    @property
    def replacing(self) -> frozenset[str]: ...  # noqa: D102

    def faults(self, inputs: Properties) -> list[Failure]:
        """What in the inputs does not fit the type's message."""
        ...

    def identifier(self, project: str, inputs: Properties) -> str:
        """The id the inputs lead to."""
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


class GoogleCloud:
    """See `rehearsal.clouds.cloud.Cloud`."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        self._account = Account(store, planes)
        self._clusters = Clusters(self._account)
        self._types: dict[str, ResourceType] = {
            CLUSTER: self._clusters,
            POOL: NodePools(self._account, self._clusters),
        }

    def check(self, resource: Resource, olds: Properties, news: Properties, digits: str) -> Checked:
        """Complete and check inputs: a made name, the provider's project and place, messages, enums."""
        kind = self._type(resource)
        inputs = dict(news)
        if inputs.get("name") is None:
            inputs["name"] = olds.get("name") or f"{resource.name}-{digits[:7]}"
        inputs.setdefault("project", project_of(inputs, resource.config))
        place = resource.config.get("zone") or resource.config.get("region")
        if place:
            inputs.setdefault("location", place)
        missing = [key for key in kind.required if inputs.get(key) is None]
        failures = [Failure(path=key, reason=f"missing required property '{key}'") for key in missing]
        failures += name_faults(inputs)
        failures += kind.faults(inputs)
        return Checked(inputs=inputs, failures=failures)

    def diff(self, resource: Resource, olds: Properties, news: Properties) -> Change:
        """Compare old and new inputs."""
        kind = self._type(resource)
        changed = changed_paths(olds, news)
        return Change(
            changed=changed, replacing=[path for path in changed if _is_below(path, kind.replacing)]
        )

    async def create(self, resource: Resource, inputs: Properties, *, preview: bool) -> Found:
        """Make a resource."""
        kind = self._type(resource)
        if preview:
            return Found(identifier="", state=_foreseen(inputs), inputs=inputs)
        identifier = kind.identifier(project_of(inputs, resource.config), inputs)
        record = self._begin(resource, identifier, inputs)
        await kind.create(record)
        return _found(record)

    async def read(self, resource: Resource) -> Found | None:
        """A resource as it is, None where it is gone."""
        self._type(resource)
        record = self._account.find(resource.identifier)
        return _found(record) if record else None

    async def update(self, resource: Resource, olds: Properties, news: Properties, *, preview: bool) -> Found:
        """Change a resource."""
        del olds
        kind = self._type(resource)
        record = self._record(resource.identifier)
        if preview:
            return Found(identifier=record["id"], state={**record["state"], **news}, inputs=news)
        await kind.update(record, news)
        return _found(record)

    async def delete(self, resource: Resource) -> None:
        """Delete a resource; harmless where it is gone."""
        kind = self._type(resource)
        record = self._account.find(resource.identifier)
        if record is not None:
            await kind.delete(record)
            self._account.remove(record["id"])

    async def invoke(self, token: str, arguments: Properties, config: Properties) -> Properties:
        """Answer one of the functions."""
        if token != GET_CLUSTER:
            raise TypeNotCoveredError("Google Cloud", "function", token, [GET_CLUSTER])
        location = str(arguments.get("location") or config.get("zone") or config.get("region"))
        identifier = cluster_id(project_of(arguments, config), location, str(arguments.get("name")))
        return self._clusters.found(self._record(identifier))

    def configure(self, settings: Mapping[str, object]) -> None:
        """Take `limits` (see GoogleLimits) and `schedulers` (command by minor)."""
        try:
            GoogleLimits.model_validate(settings.get("limits", {}))
        except ValidationError as error:
            raise InvalidRequestError(
                f"limits of the simulated Google Cloud are not valid: {error}"
            ) from error
        self._account.configure(dict(settings))

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """The token `gke-gcloud-auth-plugin` gets for whoever is logged in."""
        del arguments
        expires = (datetime.now(UTC) + TOKEN_VALID).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"token": self._account.token(), "expirationTimestamp": expires}

    def _begin(self, resource: Resource, identifier: str, inputs: Properties) -> Record:
        """The record of a resource to be created; the same declaration may create its own again.

        An engine that was killed does. The real provider refuses that and wants an import.

        Raises:
            CloudRefusal: another declaration's resource has this id.
        """
        present = self._account.find(identifier)
        if present is not None and (present["urn"] != resource.urn or present["inputs"] != inputs):
            raise refuse("ALREADY_EXISTS", f"Already exists: {identifier}; import it, or choose another name")
        return present or {
            "id": identifier,
            "type": resource.type,
            "urn": resource.urn,
            "inputs": inputs,
            "state": {"status": "PROVISIONING"},
        }

    def _record(self, identifier: str) -> Record:
        record = self._account.find(identifier)
        if record is None:
            raise refuse("NOT_FOUND", f"Not found: {identifier}")
        return record

    def _type(self, resource: Resource) -> ResourceType:
        try:
            return self._types[resource.type]
        except KeyError:
            raise TypeNotCoveredError(
                "Google Cloud", "resource type", resource.type, list(self._types)
            ) from None


def _is_below(path: str, places: frozenset[str]) -> bool:
    return any(
        path == place or path.startswith(f"{place}.") or place.startswith(f"{path}.") for place in places
    )


def _found(record: Record) -> Found:
    return Found(identifier=record["id"], state=record["state"], inputs=record["inputs"])


def _foreseen(inputs: Properties) -> Properties:
    """Outputs of a preview: inputs that are known; the name, which other resources are built from."""
    known = {key: value for key, value in inputs.items() if not has_unknown(value)}
    return {**known, "name": inputs.get("name", UNKNOWN_TEXT)}
