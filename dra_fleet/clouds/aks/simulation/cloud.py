"""The simulated Azure: resource types and functions of the azure-native plugin."""

from __future__ import annotations

import asyncio
import base64
from collections import Counter, defaultdict
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from typing_extensions import override

from dra_fleet.clouds.aks import CLOUD
from dra_fleet.clouds.aks.plan import quota_family as family
from dra_fleet.clouds.aks.simulation import managed_clusters
from dra_fleet.clouds.aks.simulation.account import (
    PATCHES,
    SERVER_ID,
    SUBSCRIPTION,
    AksAccount,
    cluster_id,
    exec_kubeconfig,
    full_version,
    minor_of,
    name_faults,
    pool_id,
    refuse,
    refuse_incompatible,
    subscription_of,
)
from dra_fleet.clouds.aks.simulation.managed_clusters import (
    API_VERSION,
    CLUSTER,
    GROUP,
    POOL,
    ManagedClusters,
    ResourceGroups,
    require_group,
)
from dra_fleet.clouds.aks.simulation.pool_nodes import (
    NODE_IMAGE,
    count_of,
    driver_choice,
    refuse_beyond_limits,
    refuse_invalid,
    refuse_other_network,
    size_of,
)
from dra_fleet.rehearsal.clouds import typed_cloud
from dra_fleet.rehearsal.clouds.cloud import UNKNOWN_TEXT, CheckedInputs, TypeNotCoveredError, at
from dra_fleet.rehearsal.clouds.commands import SimulatedCommand, WrittenCommand, answer
from dra_fleet.rehearsal.clouds.neighbours import NeighbourType, neighbours
from dra_fleet.rehearsal.clouds.typed_cloud import TypedCloud, missing_faults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import CloudRefusal, PluginResource, Properties, WrongInput
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.clouds.scaling import ScaledPool
    from dra_fleet.rehearsal.simulator.store import Store


class AgentPools:
    """The type `azure-native:containerservice:AgentPool`."""

    name_key = "agentPoolName"
    required = ("resourceGroupName", "resourceName")
    replacing = frozenset(
        {
            "agentPoolName", "gpuInstanceProfile", "networkProfile.nodePublicIPTags",
            "resourceGroupName", "resourceName", "vmSize",
            # The published plugin tries to update these, and AKS refuses it. Labels and taints it updates:
            # https://learn.microsoft.com/azure/aks/use-node-taints
            "gpuProfile", "osDiskType", "osType", "scaleSetPriority", "availabilityZones",
        }
    )  # fmt: skip

    def __init__(self, account: AksAccount, clusters: ManagedClusters) -> None:
        self._account = account
        self._clusters = clusters
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def faults(self, inputs: Properties) -> list[WrongInput]:
        path = frozenset({"resourceGroupName", "resourceName", "agentPoolName"})
        return managed_clusters.faults("AgentPool", inputs, beside=path)

    def identifier(self, subscription: str, inputs: Properties) -> str:
        cluster = cluster_id(subscription, str(inputs["resourceGroupName"]), str(inputs["resourceName"]))
        return pool_id(cluster, str(inputs["agentPoolName"]))

    async def create(self, record: Record) -> None:
        """Check and let the machines join."""
        cluster = self._cluster(record)
        async with self._turns[cluster["id"].lower()]:
            inputs = record["inputs"]
            self._check(record, cluster, had=0)
            version = cluster["state"]["currentKubernetesVersion"]
            record["state"] = {**_outputs(inputs, version), "provisioningState": "Creating"}
            self._account.put(record)
            await self._clusters.join(cluster)
            record["state"]["provisioningState"] = "Succeeded"
            self._account.put(record)

    async def update(self, record: Record, news: Properties) -> None:
        """Change the count, labels or taints; machines come, go and change."""
        cluster = self._cluster(record)
        async with self._turns[cluster["id"].lower()]:
            old = record["inputs"]
            if driver_choice(old) != driver_choice(news):
                raise refuse(
                    "PropertyChangeNotAllowed",
                    "Changing property 'properties.gpuProfile.driver' is not allowed; make a new pool",
                )
            self._check({**record, "inputs": news}, cluster, had=count_of(old))
            _refuse_downgrade(record, news)
            record["inputs"] = news
            version = cluster["state"]["currentKubernetesVersion"]
            record["state"] = {**_outputs(news, version), "provisioningState": "Succeeded"}
            self._account.put(record)
            await self._clusters.join(cluster)

    async def delete(self, record: Record) -> None:
        """Take the machines out of the cluster."""
        cluster = self._account.find(CLUSTER, record["id"].rsplit("/", 2)[0])
        if cluster is None:
            return
        async with self._turns[cluster["id"].lower()]:
            record["state"]["provisioningState"] = "Deleting"
            self._account.put(record)
            await self._clusters.join(cluster)

    def _cluster(self, record: Record) -> Record:
        found = self._account.find(CLUSTER, record["id"].rsplit("/", 2)[0])
        if found is None or found["type"] != CLUSTER:
            inputs = record["inputs"]
            raise refuse(
                "ParentResourceNotFound",
                "Failed to perform 'write' on resource of type 'managedClusters/agentPools', because the "
                f"parent resource '{inputs['resourceName']}' could not be found in "
                f"'{inputs['resourceGroupName']}'",
            )
        return found

    def _check(self, record: Record, cluster: Record, *, had: int) -> None:
        inputs = record["inputs"]
        name = str(inputs["agentPoolName"])
        refuse_invalid(name, inputs)
        version = str(cluster["state"]["currentKubernetesVersion"])
        refuse_incompatible(name, full_version(inputs.get("orchestratorVersion") or version, name), version)
        mine = (cluster["id"].lower(), name)
        others = [
            pool for pool in self._clusters.pools_everywhere() if (pool["cluster"], pool["pool"]) != mine
        ]
        beside = [{**pool, "name": pool["pool"]} for pool in others if pool["cluster"] == mine[0]]
        refuse_other_network([*beside, {**inputs, "name": name}])
        region = str(cluster["state"]["location"])
        refuse_beyond_limits(inputs, others, region, self._account.limits, had=had)


def _refuse_downgrade(record: Record, news: Properties) -> None:
    name, current = str(news["agentPoolName"]), str(record["state"]["currentOrchestratorVersion"])
    asked = full_version(news.get("orchestratorVersion") or current, name)
    if minor_of(asked) < minor_of(current):
        raise refuse(
            "InvalidParameter",
            f"Agent pool {name}: downgrading from {current} to {asked} is not allowed; make a new pool",
        )


def _outputs(inputs: Properties, version: str) -> Properties:
    path = ("resourceGroupName", "resourceName", "agentPoolName")
    kept = {key: value for key, value in inputs.items() if key not in path}
    defaults = {"mode": "User", "osType": "Linux", "osSKU": "Ubuntu", "osDiskSizeGB": 128, "maxPods": 110}
    return {
        **defaults,
        "scaleDownMode": "Delete",
        "type": "VirtualMachineScaleSets",
        **kept,
        "azureApiVersion": API_VERSION,
        "count": count_of(inputs),
        "currentOrchestratorVersion": full_version(
            inputs.get("orchestratorVersion") or version, str(inputs["agentPoolName"])
        ),
        "name": inputs["agentPoolName"],
        "nodeImageVersion": NODE_IMAGE,
        "orchestratorVersion": inputs.get("orchestratorVersion") or version,
        "powerState": {"code": "Running"},
    }


# Answers of the simulated subscription to `az`: login, usages, sizes, reservations, permissions, versions.
#
# Shapes: https://learn.microsoft.com/rest/api/compute/usage/list, …/resource-skus/list,
# …/capacity-reservations/list-by-capacity-reservation-group, /rest/api/authorization/permissions,
# /rest/api/aks/managed-clusters/list-kubernetes-versions and https://learn.microsoft.com/cli/azure/account.

_NO_LIMIT: Final = 1_000_000

_ZONES: Final = ("1", "2", "3")


def commands(account: AksAccount) -> list[SimulatedCommand]:
    return [
        SimulatedCommand(words=words, action=action, answer=partial(print_it, account))
        for words, action, print_it in _COMMANDS
    ]


def deny(action: str) -> CloudRefusal:
    return refuse(
        "AuthorizationFailed",
        f"The client does not have authorization to perform action '{action}' over scope '/subscriptions' or "
        "the scope is invalid.",
    )


def _login(account: AksAccount, asked: WrittenCommand) -> dict[str, Any]:
    requested = asked.one("--subscription")
    if requested and not account.limits.reaches(requested):
        raise refuse(
            "SubscriptionNotFound", f"The subscription of '{requested}' doesn't exist in cloud 'AzureCloud'."
        )
    identifier = requested or account.limits.login or SUBSCRIPTION
    return {"id": identifier, "name": "rehearsal", "user": {"name": "rehearsal", "type": "user"}}


def _usages(account: AksAccount, _: WrittenCommand) -> list[dict[str, Any]]:
    limits = account.limits
    used: Counter[str] = Counter()
    for record in account.all(POOL):
        size = size_of(record["inputs"])
        used[family(size.name).lower()] += size.cpus * count_of(record["inputs"])
    families = {family(name) for name in CLOUD.machines} | set(limits.quotas) | {"lowPriorityCores"}
    return [
        {
            "name": {"value": name, "localizedValue": name},
            "currentValue": used[name.lower()],
            "limit": _NO_LIMIT if limits.quota(name) is None else limits.quota(name),
            "unit": "Count",
        }
        for name in sorted(families)
    ]


def _skus(account: AksAccount, asked: WrittenCommand) -> list[dict[str, Any]]:
    limits, requested, place = account.limits, asked.one("--size"), asked.one("--location")
    known = [name for name in CLOUD.machines if requested.lower() in name.lower()]
    closed = set(limits.not_offered)
    return [
        {
            "name": name,
            "family": family(name),
            "resourceType": "virtualMachines",
            "locations": [place],
            "locationInfo": [{"location": place, "zones": list(_ZONES)}],
            "restrictions": [
                {
                    "type": kind,
                    "reasonCode": "NotAvailableForSubscription",
                    "restrictionInfo": {"zones": zones},
                }
                for kind, zones in (
                    ("Location", list(_ZONES) if name in closed else []),
                    ("Zone", [zone for zone in _ZONES if f"{name}/{zone}" in closed]),
                )
                if zones
            ],
        }
        for name in known
    ]


def _reservations(account: AksAccount, asked: WrittenCommand) -> list[dict[str, Any]]:
    group = asked.one("--capacity-reservation-group")
    kept = account.limits.reservations.get(group)
    if kept is None:
        raise refuse("ResourceNotFound", f"The capacity reservation group '{group}' was not found.")
    return [{"name": size, "sku": {"name": size, "capacity": count}} for size, count in kept.items()]


def _permissions(account: AksAccount, _: WrittenCommand) -> dict[str, Any]:
    return {"value": [{"actions": ["*"], "notActions": list(account.limits.denied)}]}


def _versions(_: AksAccount, __: WrittenCommand) -> dict[str, Any]:
    return {
        "values": [
            {"version": minor, "patchVersions": {patch: {"upgrades": []}}} for minor, patch in PATCHES.items()
        ]
    }


def _shown(account: AksAccount, asked: WrittenCommand) -> dict[str, Any]:
    """Return a cluster, or one of its pools."""
    subscription = asked.one("--subscription") or SUBSCRIPTION
    cluster, name = asked.one("--cluster-name"), asked.one("--name")
    identifier = cluster_id(subscription, asked.one("--resource-group"), cluster or name)
    kind, identifier = (POOL, pool_id(identifier, name)) if cluster else (CLUSTER, identifier)
    found = account.find(kind, identifier)
    if found is None:
        raise refuse("ResourceNotFound", f"The Resource '{identifier}' was not found.")
    return {"id": found["id"], "name": name}


_COMMANDS: Final = (
    (("aks", "show"), "Microsoft.ContainerService/managedClusters/read", _shown),
    (("aks", "nodepool", "show"), "Microsoft.ContainerService/managedClusters/agentPools/read", _shown),
    (("account", "show"), "", _login),
    (("vm", "list-usage"), "Microsoft.Compute/locations/usages/read", _usages),
    (("vm", "list-skus"), "Microsoft.Compute/skus/read", _skus),
    (
        ("capacity", "reservation", "list"),
        "Microsoft.Compute/capacityReservationGroups/capacityReservations/read",
        _reservations,
    ),
    (("rest",), "Microsoft.Authorization/permissions/read", _permissions),
    (("aks", "get-versions"), "Microsoft.ContainerService/locations/orchestrators/read", _versions),
)
"""The command, the action that it is for Azure, and what it prints."""


# Maintenance configurations: when AKS may upgrade a cluster by itself.
#
# Rules: https://learn.microsoft.com/azure/aks/planned-maintenance. No upgrade ever starts by itself here.

MAINTENANCE: Final = "azure-native:containerservice:MaintenanceConfiguration"

SCHEDULES: Final = ("aksManagedAutoUpgradeSchedule", "aksManagedNodeOSUpgradeSchedule")

NAMES: Final = ("default", *SCHEDULES)

LEAST_HOURS: Final = 4

MOST_HOURS: Final = 24

KINDS: Final = frozenset({"absoluteMonthly", "daily", "relativeMonthly", "weekly"})


class MaintenanceConfigurations:
    """The type `azure-native:containerservice:MaintenanceConfiguration`."""

    name_key = "configName"
    required = ("resourceGroupName", "resourceName")
    replacing = frozenset({"configName", "resourceGroupName", "resourceName"})

    def __init__(self, account: AksAccount) -> None:
        self._account = account

    def faults(self, inputs: Properties) -> list[WrongInput]:
        path = frozenset({"resourceGroupName", "resourceName", "configName"})
        return managed_clusters.faults("MaintenanceConfiguration", inputs, beside=path)

    def identifier(self, subscription: str, inputs: Properties) -> str:
        cluster = cluster_id(subscription, str(inputs["resourceGroupName"]), str(inputs["resourceName"]))
        return f"{cluster}/maintenanceConfigurations/{inputs['configName']}"

    async def create(self, record: Record) -> None:
        inputs = record["inputs"]
        found = self._account.find(CLUSTER, record["id"].rsplit("/", 2)[0])
        if found is None or found["type"] != CLUSTER:
            raise refuse(
                "ParentResourceNotFound",
                "Failed to perform 'write' on resource of type 'managedClusters/maintenanceConfigurations', "
                f"because the parent resource '{inputs['resourceName']}' could not be found in "
                f"'{inputs['resourceGroupName']}'",
            )
        _refuse_invalid(inputs)
        kept = ("maintenanceWindow", "notAllowedTime", "timeInWeek")
        record["state"] = {
            **{key: inputs[key] for key in kept if key in inputs},
            "azureApiVersion": API_VERSION,
            "name": inputs["configName"],
            "type": "Microsoft.ContainerService/managedClusters/maintenanceConfigurations",
        }
        self._account.put(record)

    async def update(self, record: Record, news: Properties) -> None:
        """Another window."""
        _refuse_invalid(news)
        record["inputs"] = news
        await self.create(record)

    async def delete(self, record: Record) -> None:
        """Nothing depends on it."""


def _refuse_invalid(inputs: Properties) -> None:
    name = str(inputs["configName"])
    if name not in NAMES:
        raise _invalid(f"maintenance configuration {name} is none of {', '.join(NAMES)}")
    window = inputs.get("maintenanceWindow")
    if name not in SCHEDULES:
        if window:
            raise _invalid(f"maintenance configuration {name} takes timeInWeek and no maintenanceWindow")
        return
    if not window:
        raise _invalid(f"maintenance configuration {name} needs a maintenanceWindow")
    hours = at(window, "durationHours")
    if not isinstance(hours, int) or not LEAST_HOURS <= hours <= MOST_HOURS:
        raise _invalid(f"durationHours is {hours}; it must be {LEAST_HOURS} to {MOST_HOURS}")
    kinds = sorted(KINDS & cast("Properties", at(window, "schedule") or {}).keys())
    if len(kinds) != 1:
        raise _invalid(f"schedule must have exactly one of {', '.join(sorted(KINDS))}; it has {len(kinds)}")


class AksResourceType(typed_cloud.ResourceType, Protocol):
    """A resource type. `name_key`: the input with its name.

    The `provisioningState` in a record's state is Creating until all is done.
    """

    @property
    def name_key(self) -> str | None: ...

    def identifier(self, subscription: str, inputs: Properties, /) -> str: ...


USER_CREDENTIALS: Final = "azure-native:containerservice:listManagedClusterUserCredentials"

ADMIN_CREDENTIALS: Final = "azure-native:containerservice:listManagedClusterAdminCredentials"

GET_TAGS: Final = "azure-native:resources:getTagAtScope"

GET_CLUSTER: Final = "azure-native:containerservice:getManagedCluster"

TOKEN_VALID: Final = timedelta(hours=1)


class SimulatedAks(TypedCloud[AksAccount, AksResourceType]):
    """The types that a rehearsed program declares, and AKS's functions."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        account = AksAccount(store, planes)
        self._clusters = ManagedClusters(account)
        types: dict[str, AksResourceType] = {
            GROUP: ResourceGroups(account),
            CLUSTER: self._clusters,
            POOL: AgentPools(account, self._clusters),
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
        """Return the outputs known before creation, with the name, which other resources are built from."""
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
        """Return the tags of a subscription: none, but only for a login that may read them."""
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
    def scaled_pools(self) -> list[ScaledPool]:
        return self._clusters.scaled_pools()

    @override
    def command(self, words: Sequence[str]) -> object:
        """Return the output of an `az` command."""
        return answer(words, commands(self.account), self.account.limits.denied, deny)

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """Return the token that `kubelogin` gets for the AKS server application."""
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
        server, authority = self.account.planes.address(record["simulator"])
        group, name = str(inputs["resourceGroupName"]), str(inputs["resourceName"])
        return exec_kubeconfig(group, name, server, authority)

    def _admin_kubeconfig(self, record: Record) -> str:
        if record["inputs"].get("disableLocalAccounts"):
            raise refuse(
                "BadRequest",
                "Getting static credential is not allowed because this cluster is set to disable local "
                "accounts. Use the user credentials in exec format",
            )
        return self.account.planes.admin_kubeconfig(record["simulator"])


def _invalid(what: str) -> Exception:
    return refuse("InvalidParameter", f"{what[0].upper()}{what[1:]}")
