"""The simulated Azure as the world sees it: one answer for each call of a plugin."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from rehearsal.clouds.azure.account import Account, subscription_of
from rehearsal.clouds.azure.agent_pools import AgentPools
from rehearsal.clouds.azure.kubeconfig import SERVER_ID, exec_kubeconfig
from rehearsal.clouds.azure.limits import AzureLimits
from rehearsal.clouds.azure.maintenance import MAINTENANCE, MaintenanceConfigurations
from rehearsal.clouds.azure.managed_clusters import CLUSTER, POOL, ManagedClusters
from rehearsal.clouds.azure.names import cluster_id, name_faults
from rehearsal.clouds.azure.refusing import refuse
from rehearsal.clouds.azure.resource_groups import GROUP, ResourceGroups
from rehearsal.clouds.azure.resource_type import begin
from rehearsal.clouds.cloud import Change, Checked, Failure, Found
from rehearsal.clouds.refusals import TypeNotCoveredError
from rehearsal.clouds.values import UNKNOWN_TEXT, changed_paths, has_unknown
from rehearsal.world.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rehearsal.clouds.azure.resource_type import Record, ResourceType
    from rehearsal.clouds.cloud import Resource
    from rehearsal.clouds.clusters import ManagedControlPlanes
    from rehearsal.clouds.values import Properties
    from rehearsal.world.store import Store

USER_CREDENTIALS: Final = "azure-native:containerservice:listManagedClusterUserCredentials"
ADMIN_CREDENTIALS: Final = "azure-native:containerservice:listManagedClusterAdminCredentials"
GET_CLUSTER: Final = "azure-native:containerservice:getManagedCluster"
TOKEN_VALID: Final = timedelta(hours=1)
_AUTOMATIC_LOCATION: Final = (GROUP, CLUSTER)


class AzureCloud:
    """See `rehearsal.clouds.cloud.Cloud`."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        self._account = Account(store, planes)
        clusters = ManagedClusters(self._account)
        self._types: dict[str, ResourceType] = {
            GROUP: ResourceGroups(self._account),
            CLUSTER: clusters,
            POOL: AgentPools(self._account, clusters),
            MAINTENANCE: MaintenanceConfigurations(self._account),
        }

    def check(self, resource: Resource, olds: Properties, news: Properties, digits: str) -> Checked:
        """Complete and check inputs: a made name, the provider's location, models, enums and names."""
        kind = self._type(resource)
        inputs = dict(news)
        if inputs.get(kind.name_key) is None:
            inputs[kind.name_key] = olds.get(kind.name_key) or f"{resource.name}{digits}"
        location = resource.config.get("location")
        if location and resource.type in _AUTOMATIC_LOCATION:
            inputs.setdefault("location", location)
        missing = [key for key in kind.required if inputs.get(key) is None]
        failures = [Failure(path=key, reason=f"missing required property '{key}'") for key in missing]
        failures += name_faults(inputs)
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
            return Found(identifier="", state=_foreseen(inputs, kind.name_key), inputs=inputs)
        identifier = kind.identifier(subscription_of(resource.config), inputs)
        record = begin(self._account, resource, identifier, inputs)
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
        known = (USER_CREDENTIALS, ADMIN_CREDENTIALS, GET_CLUSTER)
        if token not in known:
            raise TypeNotCoveredError("Azure", "function", token, list(known))
        group, name = str(arguments.get("resourceGroupName")), str(arguments.get("resourceName"))
        record = self._record(cluster_id(subscription_of(config), group, name))
        if token == GET_CLUSTER:
            return {**record["state"], "id": record["id"]}
        user = token == USER_CREDENTIALS
        text = self._user_kubeconfig(record, arguments) if user else self._admin_kubeconfig(record)
        value = base64.b64encode(text.encode()).decode()
        return {"kubeconfigs": [{"name": "clusterUser" if user else "clusterAdmin", "value": value}]}

    def configure(self, settings: Mapping[str, object]) -> None:
        """Take `limits` (see AzureLimits) and `schedulers` (command by minor)."""
        try:
            AzureLimits.model_validate(settings.get("limits", {}))
        except ValidationError as error:
            raise InvalidRequestError(f"limits of the simulated Azure are not valid: {error}") from error
        self._account.configure(dict(settings))

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """The token `kubelogin` gets for the AKS server application."""
        server = arguments.get("serverId")
        if server != SERVER_ID:
            raise refuse(
                "invalid_resource",
                f"AADSTS500011: The resource principal named {server} was not found in the tenant; "
                f"AKS's is {SERVER_ID}",
            )
        expires = (datetime.now(UTC) + TOKEN_VALID).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"token": self._account.token(), "expirationTimestamp": expires}

    def _user_kubeconfig(self, record: Record, arguments: Properties) -> str:
        inputs = record["inputs"]
        if not inputs.get("aadProfile"):
            return self._admin_kubeconfig(record)
        if arguments.get("format") != "exec":
            raise refuse(
                "BadRequest",
                f"format {arguments.get('format') or 'azure'} gives a kubeconfig that no client since "
                'Kubernetes 1.26 can use (auth-provider azure); ask for format "exec"',
            )
        server, authority = self._account.planes.address(record["world"])
        group, name = str(inputs["resourceGroupName"]), str(inputs["resourceName"])
        return exec_kubeconfig(group, name, server, authority)

    def _admin_kubeconfig(self, record: Record) -> str:
        if record["inputs"].get("disableLocalAccounts"):
            raise refuse(
                "BadRequest",
                "Getting static credential is not allowed because this cluster is set to disable local "
                "accounts. Use the user credentials in exec format",
            )
        return self._account.planes.admin_kubeconfig(record["world"])

    def _record(self, identifier: str) -> Record:
        record = self._account.find(identifier)
        if record is None:
            raise refuse(
                "ResourceNotFound",
                f"The Resource '{identifier}' was not found. For more details please go to "
                "https://aka.ms/ARMResourceNotFoundFix",
            )
        return record

    def _type(self, resource: Resource) -> ResourceType:
        try:
            return self._types[resource.type]
        except KeyError:
            raise TypeNotCoveredError("Azure", "resource type", resource.type, list(self._types)) from None


def _is_below(path: str, places: frozenset[str]) -> bool:
    return any(
        path == place or path.startswith(f"{place}.") or place.startswith(f"{path}.") for place in places
    )


def _found(record: Record) -> Found:
    return Found(identifier=record["id"], state=record["state"], inputs=record["inputs"])


def _foreseen(inputs: Properties, name_key: str) -> Properties:
    """Outputs of a preview: inputs that are known; the name, which other resources are built from."""
    known = {key: value for key, value in inputs.items() if not has_unknown(value)}
    return {**known, "name": inputs.get(name_key, UNKNOWN_TEXT)}
