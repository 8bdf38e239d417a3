"""The simulated AWS as the world sees it: one answer for each call of a plugin."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from rehearsal.clouds.aws.account import Account, region_of
from rehearsal.clouds.aws.clusters import Clusters
from rehearsal.clouds.aws.limits import AwsLimits
from rehearsal.clouds.aws.network_types import network_types
from rehearsal.clouds.aws.node_groups import NodeGroups
from rehearsal.clouds.aws.refusing import refuse
from rehearsal.clouds.aws.small_types import CLUSTER, NODE_GROUP, small_types
from rehearsal.clouds.cloud import Change, Checked, Failure, Found
from rehearsal.clouds.refusals import TypeNotCoveredError
from rehearsal.clouds.values import changed_paths, has_unknown
from rehearsal.world.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rehearsal.clouds.aws.account import Record
    from rehearsal.clouds.aws.resource_type import ResourceType
    from rehearsal.clouds.cloud import Resource
    from rehearsal.clouds.clusters import ManagedControlPlanes
    from rehearsal.clouds.values import Properties
    from rehearsal.world.store import Store

GET_CLUSTER: Final = "aws:eks/getCluster:getCluster"
TOKEN_VALID: Final = timedelta(minutes=14)
"""https://docs.aws.amazon.com/eks/latest/userguide/cluster-auth.html"""
_DIGITS: Final = 7


class AwsCloud:
    """See `rehearsal.clouds.cloud.Cloud`."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        self._account = Account(store, planes)
        clusters = Clusters(self._account)
        self._types: dict[str, ResourceType] = {
            CLUSTER: clusters,
            NODE_GROUP: NodeGroups(self._account, clusters),
            **network_types(self._account),
            **small_types(self._account),
        }

    def check(self, resource: Resource, olds: Properties, news: Properties, digits: str) -> Checked:
        """Complete and check inputs: a made name, shapes, enums and patterns of the API."""
        kind = self._type(resource)
        inputs = dict(news)
        if kind.name_key is not None and inputs.get(kind.name_key) is None:
            inputs[kind.name_key] = olds.get(kind.name_key) or f"{resource.name}-{digits[:_DIGITS]}"
        missing = [key for key in kind.required if inputs.get(key) is None]
        failures = [Failure(path=key, reason=f"missing required property '{key}'") for key in missing]
        if not missing:
            failures += kind.faults(inputs)
        return Checked(inputs=inputs, failures=failures)

    def diff(self, resource: Resource, olds: Properties, news: Properties) -> Change:
        """Compare old and new inputs."""
        kind = self._type(resource)
        changed = changed_paths(olds, news)
        replacing = [path for path in changed if _is_below(path, kind.replacing)]
        return Change(changed=changed, replacing=replacing)

    async def create(self, resource: Resource, inputs: Properties, *, preview: bool) -> Found:
        """Make a resource."""
        kind = self._type(resource)
        if preview:
            known = {key: value for key, value in inputs.items() if not has_unknown(value)}
            return Found(identifier="", state=known, inputs=inputs)
        record = self._begin(resource, kind.identifier(resource.urn, inputs), inputs)
        await kind.create(record)
        return _found(record)

    async def read(self, resource: Resource) -> Found | None:
        """A resource as it is, None where it is gone."""
        self._type(resource)
        record = self._account.find(resource.type, resource.identifier)
        return _found(record) if record else None

    async def update(self, resource: Resource, olds: Properties, news: Properties, *, preview: bool) -> Found:
        """Change a resource."""
        del olds
        kind = self._type(resource)
        record = self._account.find(resource.type, resource.identifier)
        if record is None:
            raise refuse("ResourceNotFoundException", f"{resource.identifier} does not exist any more")
        if preview:
            return Found(identifier=record["id"], state={**record["state"], **news}, inputs=news)
        await kind.update(record, news)
        return _found(record)

    async def delete(self, resource: Resource) -> None:
        """Delete a resource; harmless where it is gone."""
        kind = self._type(resource)
        record = self._account.find(resource.type, resource.identifier)
        if record is not None:
            await kind.delete(record)
            self._account.remove(record)

    async def invoke(self, token: str, arguments: Properties, config: Properties) -> Properties:
        """Answer the one function: a cluster as it is."""
        del config
        if token != GET_CLUSTER:
            raise TypeNotCoveredError("AWS", "function", token, [GET_CLUSTER])
        name = str(arguments.get("name"))
        record = self._account.find(CLUSTER, name)
        if record is None:
            raise refuse("ResourceNotFoundException", f"No cluster found for name: {name}.")
        return _as_function(record)

    def configure(self, settings: Mapping[str, object]) -> None:
        """Take `limits` (see AwsLimits) and `schedulers` (command by minor)."""
        try:
            AwsLimits.model_validate(settings.get("limits", {}))
        except ValidationError as error:
            raise InvalidRequestError(f"limits of the simulated AWS are not valid: {error}") from error
        self._account.configure(dict(settings))

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """The token `aws eks get-token` prints. As in reality nobody asks whether the cluster is there."""
        if not arguments.get("clusterName"):
            raise refuse("ValidationException", "the following arguments are required: --cluster-name")
        expires = (datetime.now(UTC) + TOKEN_VALID).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"token": self._account.token(), "expirationTimestamp": expires}

    def _begin(self, resource: Resource, identifier: str, inputs: Properties) -> Record:
        """The record of a resource to be created; a killed engine may create its own again."""
        present = self._account.find(resource.type, identifier)
        if present is not None and (present["urn"] != resource.urn or present["inputs"] != inputs):
            raise refuse(
                "ResourceInUseException", f"{identifier} already exists; import it, or choose another name"
            )
        return present or {
            "id": identifier,
            "type": resource.type,
            "urn": resource.urn,
            "region": region_of(resource.config),
            "inputs": inputs,
            "state": {},
        }

    def _type(self, resource: Resource) -> ResourceType:
        try:
            return self._types[resource.type]
        except KeyError:
            raise TypeNotCoveredError("AWS", "resource type", resource.type, list(self._types)) from None


def _is_below(path: str, places: frozenset[str]) -> bool:
    return any(
        path == place or path.startswith(f"{place}.") or place.startswith(f"{path}.") for place in places
    )


def _found(record: Record) -> Found:
    return Found(identifier=record["id"], state=record["state"], inputs=record["inputs"])


def _as_function(record: Record) -> dict[str, Any]:
    state = record["state"]
    return {
        **state,
        "id": record["id"],
        "name": record["id"],
        "certificateAuthorities": [state["certificateAuthority"]],
        "kubernetesNetworkConfigs": [state["kubernetesNetworkConfig"]],
    }
