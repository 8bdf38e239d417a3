"""The simulated Google Cloud as the world sees it: one answer for each call of a plugin."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from typing_extensions import override

from dra_fleet.clouds.gke.simulation.account import GkeAccount, cluster_id, project_of, refuse
from dra_fleet.clouds.gke.simulation.clusters import CLUSTER, POOL, GkeClusters
from dra_fleet.clouds.gke.simulation.gcloud_answers import commands, deny
from dra_fleet.clouds.gke.simulation.node_pools import NodePools
from dra_fleet.rehearsal.clouds import typed_cloud
from dra_fleet.rehearsal.clouds.cloud import UNKNOWN_TEXT, CheckedInputs, TypeNotCoveredError
from dra_fleet.rehearsal.clouds.commands import answer
from dra_fleet.rehearsal.clouds.neighbours import NeighbourType, neighbours

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import CloudRefusal, PluginResource, Properties
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.world.store import Store

GET_PROJECT: Final = "gcp:organizations/getProject:getProject"
GET_CLUSTER: Final = "gcp:container/getCluster:getCluster"
TOKEN_VALID: Final = timedelta(hours=1)


class GkeResourceType(typed_cloud.ResourceType, Protocol):
    """One type. The `status` in a record's state is PROVISIONING until all is done."""

    @property
    def name_key(self) -> str | None: ...  # noqa: D102 - the input with its name

    @property
    def place_key(self) -> str | None: ...  # noqa: D102 - the input with its place

    def identifier(self, project: str, inputs: Properties, /) -> str:
        """The id the inputs lead to."""
        ...


class SimulatedGke(typed_cloud.TypedCloud[GkeAccount, GkeResourceType]):
    """The types that a rehearsed program declares, and GKE's function."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        account = GkeAccount(store, planes)
        self._clusters = GkeClusters(account)
        self._pools = NodePools(account, self._clusters)
        beside = {
            kind: NeighbourType(account=account, facts=facts) for kind, facts in neighbours("gke").items()
        }
        types: dict[str, GkeResourceType] = {
            **beside,
            CLUSTER: self._clusters,
            POOL: self._pools,
        }
        super().__init__(account, types)

    def check(
        self, resource: PluginResource, olds: Properties, news: Properties, digits: str
    ) -> CheckedInputs:
        """Complete and check inputs: a made name, the provider's project and place, messages, enums."""
        kind = self.kind_of(resource)
        inputs = dict(news)
        name, region = kind.name_key, resource.config.get("region")
        if name and inputs.get(name) is None:
            inputs[name] = olds.get(name) or f"{resource.name}-{digits[:7]}"
        inputs.setdefault("project", project_of(inputs, resource.config))
        place = region if kind.place_key == "region" else resource.config.get("zone") or region
        if kind.place_key and place:
            inputs.setdefault(kind.place_key, place)
        missing = typed_cloud.missing_faults(kind, inputs)
        return CheckedInputs(inputs=inputs, failures=[*missing, *kind.faults(inputs)])

    @override
    def identify(self, resource: PluginResource, inputs: Properties) -> str:
        return self.kind_of(resource).identifier(project_of(inputs, resource.config), inputs)

    @override
    def begun(self, resource: PluginResource) -> Record:
        return {"state": {"status": "PROVISIONING"}}

    @override
    def taken(self, identifier: str) -> CloudRefusal:
        return refuse("ALREADY_EXISTS", f"Already exists: {identifier}; import it, or choose another name")

    @override
    def absent(self, identifier: str) -> CloudRefusal:
        return refuse("NOT_FOUND", f"Not found: {identifier}")

    @override
    def foreseen(self, resource: PluginResource, inputs: Properties) -> Properties:
        """The name too, which other resources are built from."""
        name = {"name": inputs.get("name", UNKNOWN_TEXT)} if self.kind_of(resource).name_key else {}
        return {**super().foreseen(resource, inputs), **name}

    async def invoke(self, token: str, arguments: Properties, config: Properties) -> Properties:
        """Answer one of the functions."""
        if token == GET_PROJECT:
            return self._project(str(arguments.get("projectId") or project_of({}, config)))
        if token != GET_CLUSTER:
            raise TypeNotCoveredError(self.account.title, "function", token, [GET_CLUSTER, GET_PROJECT])
        location = str(arguments.get("location") or config.get("zone") or config.get("region"))
        identifier = cluster_id(project_of(arguments, config), location, str(arguments.get("name")))
        return self._clusters.found(self.require(CLUSTER, identifier))

    def _project(self, project: str) -> Properties:
        if not self.account.limits.reaches(project):
            raise refuse("PERMISSION_DENIED", "The caller does not have permission")
        return {"id": f"projects/{project}", "projectId": project, "name": project}

    @override
    def command(self, words: Sequence[str]) -> object:
        """What `gcloud` prints."""
        return answer(words, commands(self.account, self._pools), self.account.limits.denied, deny)

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """The token `gke-gcloud-auth-plugin` gets for whoever is logged in."""
        del arguments
        return self.account.credential(TOKEN_VALID)
