"""The simulated Google Cloud as the simulator sees it: one answer for each call of a plugin."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from typing_extensions import override

from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.clouds.gke.simulation.account import (
    ALL_REGIONS,
    DEFAULTS,
    USER,
    GkeAccount,
    cluster_id,
    project_of,
    refuse,
)
from dra_fleet.clouds.gke.simulation.clusters import CLUSTER, POOL, GkeClusters
from dra_fleet.clouds.gke.simulation.node_pools import NodePools
from dra_fleet.clouds.gke.simulation.pool_nodes import in_use, known_names
from dra_fleet.rehearsal.clouds import typed_cloud
from dra_fleet.rehearsal.clouds.cloud import UNKNOWN_TEXT, CheckedInputs, TypeNotCoveredError
from dra_fleet.rehearsal.clouds.commands import SimulatedCommand, WrittenCommand, answer
from dra_fleet.rehearsal.clouds.neighbours import NeighbourType, neighbours

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import CloudRefusal, PluginResource, Properties
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.clouds.scaling import ScaledPool
    from dra_fleet.rehearsal.simulator.store import Store


# Answers of the simulated project to `gcloud`: login, quotas, offers, reservations, permissions, versions.
#
# The shapes are those of Google's APIs: https://cloud.google.com/compute/docs/reference/rest/v1,
# https://cloud.google.com/docs/quotas/reference/rest, https://cloud.google.com/policy-
# intelligence/docs/reference and the protobufs of google-cloud-container.

_NO_LIMIT: Final = 1_000_000

_ZONES: Final = "abcf"

_FILTER: Final = re.compile(r"name=\((?P<names>[^)]*)\)(?: AND zone~(?P<region>.*)-)?")


def commands(account: GkeAccount, pools: NodePools) -> list[SimulatedCommand]:
    listed: dict[tuple[str, ...], tuple[str, Callable[[WrittenCommand], object]]] = {
        ("auth", "list"): ("", lambda _: [{"account": USER, "status": "ACTIVE"}]),
        ("projects", "describe"): ("resourcemanager.projects.get", partial(_project, account)),
        ("compute", "regions", "describe"): ("compute.regions.get", lambda _: _region_quotas(account, pools)),
        ("compute", "project-info", "describe"): ("compute.projects.get", lambda _: _project_quotas(account)),
        ("quotas", "info", "describe"): ("cloudquotas.quotas.get", partial(_quota_info, account)),
        ("compute", "machine-types", "list"): (
            "compute.machineTypes.list",
            partial(_offers, account, known_names()),
        ),
        ("compute", "accelerator-types", "list"): (
            "compute.acceleratorTypes.list",
            partial(_offers, account, {quota.accelerator for quota in gke_facts().quotas}),
        ),
        ("compute", "reservations", "list"): ("compute.reservations.list", partial(_reservations, account)),
        ("policy-troubleshoot", "iam"): ("", partial(_access, account)),
        ("container", "get-server-config"): ("container.clusters.list", _server_config),
        ("container", "clusters", "describe"): ("container.clusters.get", partial(_shown, account)),
        ("container", "node-pools", "describe"): ("container.clusters.get", partial(_shown, account)),
    }
    return [
        SimulatedCommand(words=words, action=action, answer=reported)
        for words, (action, reported) in listed.items()
    ]


def deny(action: str) -> CloudRefusal:
    return refuse("PERMISSION_DENIED", f"Required '{action}' permission for the project")


def _shown(account: GkeAccount, asked: WrittenCommand) -> dict[str, Any]:
    """Return a cluster, or one of its pools."""
    cluster, name = asked.one("--cluster"), asked.words[0]
    identifier = cluster_id(asked.one("--project"), asked.one("--location"), cluster or name)
    kind, identifier = (POOL, f"{identifier}/nodePools/{name}") if cluster else (CLUSTER, identifier)
    if account.find(kind, identifier) is None:
        raise refuse("NOT_FOUND", f"ResponseError: code=404, message=Not found: {identifier}.")
    return {"name": name, "selfLink": identifier}


def _project(account: GkeAccount, asked: WrittenCommand) -> dict[str, Any]:
    project = asked.words[0]
    if not account.limits.reaches(project):
        raise refuse(
            "PERMISSION_DENIED",
            f"[{USER}] does not have permission to access projects instance [{project}] (or it may not "
            "exist)",
        )
    return {"projectId": project, "name": project, "lifecycleState": "ACTIVE"}


GET_PROJECT: Final = "gcp:organizations/getProject:getProject"

GET_CLUSTER: Final = "gcp:container/getCluster:getCluster"

TOKEN_VALID: Final = timedelta(hours=1)


class GkeResourceType(typed_cloud.ResourceType, Protocol):
    """A resource type. The `status` in a record's state is PROVISIONING until all is done."""

    @property
    def name_key(self) -> str | None: ...

    @property
    def place_key(self) -> str | None: ...

    def identifier(self, project: str, inputs: Properties, /) -> str: ...


class SimulatedGke(typed_cloud.TypedCloud[GkeAccount, GkeResourceType]):
    """The types that a rehearsed program declares, and GKE's function."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        account = GkeAccount(store, planes)
        self._clusters = GkeClusters(account)
        self._pools = NodePools(account, self._clusters)
        beside = {
            kind: NeighbourType(account=account, facts=facts) for kind, facts in neighbours("gke").items()
        }
        types: dict[str, GkeResourceType] = {**beside, CLUSTER: self._clusters, POOL: self._pools}
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
        """Return the outputs known before creation, with the name, which other resources are built from."""
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
    def scaled_pools(self) -> list[ScaledPool]:
        return self._pools.scaled_pools()

    @override
    def command(self, words: Sequence[str]) -> object:
        """Return the output of a `gcloud` command."""
        return answer(words, commands(self.account, self._pools), self.account.limits.denied, deny)

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """Return the token that `gke-gcloud-auth-plugin` gets for the current login."""
        del arguments
        return self.account.credential(TOKEN_VALID)


def _region_quotas(account: GkeAccount, pools: NodePools) -> dict[str, Any]:
    limits = [
        (known, account.limits.quota(known.accelerator)) for known in gke_facts().quotas if known.metric
    ]
    return {
        "quotas": [
            {"metric": f"{spot}{known.metric}", "limit": _NO_LIMIT if limit is None else limit, "usage": used}
            for known, limit in limits
            for spot, used in (("", in_use(known.accelerator, pools.others())), ("PREEMPTIBLE_", 0))
        ]
    }


def _project_quotas(account: GkeAccount) -> dict[str, Any]:
    limit = account.limits.quota(ALL_REGIONS)
    return {"quotas": [{"metric": ALL_REGIONS, "limit": _NO_LIMIT if limit is None else limit, "usage": 0}]}


def _quota_info(account: GkeAccount, asked: WrittenCommand) -> dict[str, Any]:
    quota = asked.words[0]
    infos: list[dict[str, Any]] = []
    for known in gke_facts().quotas:
        if quota in {known.quota, known.spot}:
            limit = account.limits.quota(known.accelerator)
            infos.append(
                {
                    "dimensions": dict(known.family) if quota == known.quota else {},
                    "details": {"value": str(-1 if limit is None else limit)},
                }
            )
    if not infos:
        raise refuse("NOT_FOUND", f"Quota {quota} is not found")
    return {"quotaId": quota, "service": asked.one("--service"), "dimensionsInfos": infos}


def _offers(account: GkeAccount, known: set[str], asked: WrittenCommand) -> list[dict[str, Any]]:
    names, region = _filtered(asked)
    zones = [f"{region}-{letter}" for letter in _ZONES]
    return [
        {"name": name, "zone": zone}
        for name in names
        if name in known
        for zone in zones
        if account.limits.is_offered(name, zone)
    ]


def _reservations(account: GkeAccount, asked: WrittenCommand) -> list[dict[str, Any]]:
    names, _ = _filtered(asked)
    project = asked.one("--project")
    kept = {name: account.limits.reservations.get(name, {}) for name in names}
    return [
        {
            "name": name,
            "zone": f"https://www.googleapis.com/compute/v1/projects/{project}/zones/{zone}",
            "specificReservation": {"count": str(count), "instanceProperties": {"machineType": machine}},
        }
        for name, machines in kept.items()
        for where, count in machines.items()
        for machine, _, zone in [where.partition("/")]
    ]


def _filtered(asked: WrittenCommand) -> tuple[list[str], str]:
    match = _FILTER.fullmatch(asked.one("--filter"))
    if match is None:
        raise refuse("INVALID_ARGUMENT", f"(rehearsal) filter {asked.one('--filter')!r} is not simulated")
    return match["names"].split(), match["region"] or ""


def _access(account: GkeAccount, asked: WrittenCommand) -> dict[str, Any]:
    permission = asked.one("--permission")
    return {"access": "NOT_GRANTED" if permission in account.limits.denied else "GRANTED"}


def _server_config(_: WrittenCommand) -> dict[str, Any]:
    versions = list(DEFAULTS.values())
    channels = [{"channel": channel, "validVersions": versions} for channel in gke_facts().channels]
    return {"channels": channels, "validMasterVersions": versions}
