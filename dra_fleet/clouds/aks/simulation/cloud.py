"""The simulated Azure: resource types and functions of the azure-native plugin."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from typing_extensions import override

from dra_fleet.clouds.aks.simulation.account import (
    SERVER_ID,
    AksAccount,
    cluster_id,
    exec_kubeconfig,
    name_faults,
    refuse,
    subscription_of,
)
from dra_fleet.clouds.aks.simulation.agent_pools import AgentPools
from dra_fleet.clouds.aks.simulation.az_answers import commands, deny
from dra_fleet.clouds.aks.simulation.maintenance import MAINTENANCE, MaintenanceConfigurations
from dra_fleet.clouds.aks.simulation.managed_clusters import (
    CLUSTER,
    GROUP,
    POOL,
    ManagedClusters,
    ResourceGroups,
    require_group,
)
from dra_fleet.rehearsal.clouds import typed_cloud
from dra_fleet.rehearsal.clouds.cloud import UNKNOWN_TEXT, CheckedInputs, TypeNotCoveredError
from dra_fleet.rehearsal.clouds.commands import answer
from dra_fleet.rehearsal.clouds.neighbours import NeighbourType, neighbours
from dra_fleet.rehearsal.clouds.typed_cloud import TypedCloud, missing_faults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import CloudRefusal, PluginResource, Properties
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.world.store import Store


class AksResourceType(typed_cloud.ResourceType, Protocol):
    """One type; `name_key` is the input with its name.

    The `provisioningState` in a record's state is Creating until all is done.
    """

    @property
    def name_key(self) -> str | None: ...  # noqa: D102 - see above

    def identifier(self, subscription: str, inputs: Properties, /) -> str:
        """The id the inputs lead to."""
        ...


USER_CREDENTIALS: Final = "azure-native:containerservice:listManagedClusterUserCredentials"
ADMIN_CREDENTIALS: Final = "azure-native:containerservice:listManagedClusterAdminCredentials"
GET_TAGS: Final = "azure-native:resources:getTagAtScope"
GET_CLUSTER: Final = "azure-native:containerservice:getManagedCluster"
TOKEN_VALID: Final = timedelta(hours=1)


class SimulatedAks(TypedCloud[AksAccount, AksResourceType]):
    """The types that a rehearsed program declares, and AKS's functions."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        account = AksAccount(store, planes)
        clusters = ManagedClusters(account)
        types: dict[str, AksResourceType] = {
            GROUP: ResourceGroups(account),
            CLUSTER: clusters,
            POOL: AgentPools(account, clusters),
            MAINTENANCE: MaintenanceConfigurations(account),
        }
        beside = neighbours("aks")
        self._located = {GROUP, CLUSTER, *(kind for kind, facts in beside.items() if facts.place)}

        def needs(record: Record) -> None:
            if group := record["inputs"].get("resourceGroupName"):
                require_group(account, str(record["id"]).split("/")[2], str(group))

        found = {
            kind: NeighbourType(account=account, facts=facts, needs=needs) for kind, facts in beside.items()
        }
        super().__init__(account, {**found, **types})

    def check(
        self, resource: PluginResource, olds: Properties, news: Properties, digits: str
    ) -> CheckedInputs:
        """Complete and check inputs: a made name, the provider's location, models, enums and names."""
        kind = self.kind_of(resource)
        inputs = dict(news)
        if kind.name_key and inputs.get(kind.name_key) is None:
            inputs[kind.name_key] = olds.get(kind.name_key) or f"{resource.name}{digits}"
        location = resource.config.get("location")
        if location and resource.type in self._located:
            inputs.setdefault("location", location)
        failures = [*missing_faults(kind, inputs), *name_faults(inputs), *kind.faults(inputs)]
        return CheckedInputs(inputs=inputs, failures=failures)

    @override
    def identify(self, resource: PluginResource, inputs: Properties) -> str:
        return self.kind_of(resource).identifier(subscription_of(resource.config), inputs)

    @override
    def begun(self, resource: PluginResource) -> Record:
        return {"state": {"provisioningState": "Creating"}}

    @override
    def taken(self, identifier: str) -> CloudRefusal:
        return refuse(
            "Conflict",
            f"cannot create already existing resource {identifier!r}; import it, or choose another name",
        )

    @override
    def absent(self, identifier: str) -> CloudRefusal:
        return refuse(
            "ResourceNotFound",
            f"The Resource '{identifier}' was not found. For more details please go to "
            "https://aka.ms/ARMResourceNotFoundFix",
        )

    @override
    def foreseen(self, resource: PluginResource, inputs: Properties) -> Properties:
        """The name too, which other resources are built from."""
        name = inputs.get(self.kind_of(resource).name_key or "", UNKNOWN_TEXT)
        return {**super().foreseen(resource, inputs), "name": name}

    async def invoke(self, token: str, arguments: Properties, config: Properties) -> Properties:
        """Answer one of the functions."""
        known = (USER_CREDENTIALS, ADMIN_CREDENTIALS, GET_CLUSTER, GET_TAGS)
        if token not in known:
            raise TypeNotCoveredError(self.account.title, "function", token, list(known))
        if token == GET_TAGS:
            return self._tags(str(arguments.get("scope")))
        group, name = str(arguments.get("resourceGroupName")), str(arguments.get("resourceName"))
        record = self.require(CLUSTER, cluster_id(subscription_of(config), group, name))
        if token == GET_CLUSTER:
            return {**record["state"], "id": record["id"], "agentPoolProfiles": self._pools(record)}
        user = token == USER_CREDENTIALS
        text = self._user_kubeconfig(record, arguments) if user else self._admin_kubeconfig(record)
        value = base64.b64encode(text.encode()).decode()
        return {"kubeconfigs": [{"name": "clusterUser" if user else "clusterAdmin", "value": value}]}

    def _tags(self, scope: str) -> Properties:
        """The tags of a subscription: none, but only for a login that may read it."""
        if not self.account.limits.reaches(scope.split("/")[2]):
            raise refuse(
                "AuthorizationFailed",
                "The client 'rehearsal' does not have authorization to perform action "
                f"'Microsoft.Resources/tags/read' over scope '{scope}' or the scope is invalid.",
            )
        kind = "Microsoft.Resources/tags"
        return {"id": f"{scope}/providers/{kind}/default", "name": "default", "type": kind, "properties": {}}

    def _pools(self, cluster: Record) -> list[Properties]:
        """All agent pools of a cluster, wherever they were declared; a pool's own resource says more."""
        inside = {str(pool["name"]): pool for pool in cluster["state"]["agentPoolProfiles"]}
        own = {str(one["state"]["name"]): one["state"] for one in self.account.all(POOL, cluster["id"] + "/")}
        return list({**inside, **own}.values())

    @override
    def command(self, words: Sequence[str]) -> object:
        """What `az` prints."""
        return answer(words, commands(self.account), self.account.limits.denied, deny)

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """The token `kubelogin` gets for the AKS server application."""
        server = arguments.get("serverId")
        if server != SERVER_ID:
            raise refuse(
                "invalid_resource",
                f"AADSTS500011: The resource principal named {server} was not found in the tenant; "
                f"AKS's is {SERVER_ID}",
            )
        return self.account.credential(TOKEN_VALID)

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
        server, authority = self.account.planes.address(record["world"])
        group, name = str(inputs["resourceGroupName"]), str(inputs["resourceName"])
        return exec_kubeconfig(group, name, server, authority)

    def _admin_kubeconfig(self, record: Record) -> str:
        if record["inputs"].get("disableLocalAccounts"):
            raise refuse(
                "BadRequest",
                "Getting static credential is not allowed because this cluster is set to disable local "
                "accounts. Use the user credentials in exec format",
            )
        return self.account.planes.admin_kubeconfig(record["world"])
