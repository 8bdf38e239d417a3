"""Simulated resource groups and managed clusters."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.clouds.aks.simulation.account import (
    TENANT,
    cluster_id,
    digits_of,
    full_version,
    group_id,
    letters_of,
    refuse,
    refuse_incompatible,
    refuse_jump,
)
from dra_fleet.clouds.aks.simulation.pool_nodes import (
    count_of,
    machines,
    refuse_beyond_limits,
    refuse_invalid,
    refuse_other_network,
)
from dra_fleet.model.specs import stable_uuid
from dra_fleet.rehearsal.clouds.account import free_name
from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput, at, is_unknown
from dra_fleet.rehearsal.clouds.scaling import SCALED, ScaledPool, numbers_of, scaled, seen_by_plugins

if TYPE_CHECKING:
    from dra_fleet.clouds.aks.simulation.account import AksAccount
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.simulator.node import NodeHardware


# Holds inputs to the models and enums of azure-mgmt-containerservice.
#
# The package is heavy, so it is loaded when the first AKS resource is checked.
# Its API version is newer than the one the plugin's SDK speaks by default (2025-09-01): what only the newer
# knows is accepted here, and cannot come from the typed SDK.

_LIST_INSTEAD_OF_MAP: Final = frozenset({"userAssignedIdentities"})
"""The plugin takes a list where the API has a map of empty objects."""


def faults(model: str, inputs: Properties, *, beside: frozenset[str]) -> list[WrongInput]:
    """Return the inputs that do not fit the model.

    Args:
        model: such as "ManagedCluster".
        inputs: as the plugin's SDK names them.
        beside: keys outside the model: the parts of the resource's path.
    """
    rest = {key: value for key, value in inputs.items() if key not in beside}
    return list(_model_faults(model, rest, ""))


_NAMES: Final[dict[Any, str]] = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false",
    list: "a list", dict: "an object",
}  # fmt: skip

GROUP: Final = "azure-native:resources:ResourceGroup"

_KNOWN: Final = ("location", "managedBy", "resourceGroupName", "tags")


class ResourceGroups:
    """The type `azure-native:resources:ResourceGroup`."""

    name_key = "resourceGroupName"
    replacing = frozenset({"location", "resourceGroupName", "managedBy"})
    required = ("location",)

    def __init__(self, account: AksAccount) -> None:
        self._account = account

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """Keys a resource group has not."""
        return [
            WrongInput(
                path=key, reason=f"{key!r} is not a property of ResourceGroup; it has: {', '.join(_KNOWN)}"
            )
            for key in inputs
            if key not in _KNOWN
        ]

    def identifier(self, subscription: str, inputs: Properties) -> str:
        return group_id(subscription, str(inputs["resourceGroupName"]))

    async def create(self, record: Record) -> None:
        inputs = record["inputs"]
        record["state"] = {
            **{key: inputs[key] for key in ("location", "managedBy", "tags") if key in inputs},
            "name": inputs["resourceGroupName"],
            "type": "Microsoft.Resources/resourceGroups",
            "properties": {"provisioningState": "Succeeded"},
            "azureApiVersion": "2024-11-01",
        }
        self._account.put(record)

    async def update(self, record: Record, news: Properties) -> None:
        record["inputs"] = news
        await self.create(record)

    async def delete(self, record: Record) -> None:
        """Delete an empty group.

        Raises:
            CloudRefusal: something is in it; the published plugin refuses that too.
        """
        inside = [child["id"] for child in self._account.inside(record["id"])]
        if inside:
            raise refuse(
                "ResourceGroupBeingDeleted",
                f"Resource group {record['inputs']['resourceGroupName']} still holds {', '.join(inside)}; "
                "delete them first",
            )


def require_group(account: AksAccount, subscription: str, name: str) -> Record:
    """Return the group of that name.

    Raises:
        CloudRefusal: there is none.
    """
    found = account.find(GROUP, group_id(subscription, name))
    if found is None:
        raise refuse(
            "ResourceGroupNotFound",
            f"Resource group '{name}' could not be found. Create it before what it holds",
        )
    return found


CLUSTER: Final = "azure-native:containerservice:ManagedCluster"

POOL: Final = "azure-native:containerservice:AgentPool"

API_VERSION: Final = "2025-09-01"

_NEVER_RETURNED: Final = frozenset({"servicePrincipalProfile", "windowsProfile"})

_NETWORK: Final = (
    "dnsServiceIP", "networkDataplane", "networkMode", "networkPlugin", "networkPluginMode", "networkPolicy",
    "outboundType", "podCidr", "serviceCidr", "serviceCidrs",
)  # fmt: skip


class ManagedClusters:
    """The type `azure-native:containerservice:ManagedCluster`.

    What replaces: the published plugin's own list.
    https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/gen/replacement.go
    """

    name_key = "resourceName"
    required = ("resourceGroupName",)
    replacing = frozenset(
        {
            "diskEncryptionSetID", "dnsPrefix", "fqdnSubdomain", "linuxProfile", "location",
            "nodeResourceGroup", "resourceGroupName", "resourceName", "windowsProfile",
            *(f"networkProfile.{key}" for key in _NETWORK),
        }
    )  # fmt: skip

    def __init__(self, account: AksAccount) -> None:
        self._account = account

    def faults(self, inputs: Properties) -> list[WrongInput]:
        return faults("ManagedCluster", inputs, beside=frozenset({"resourceGroupName", "resourceName"}))

    def identifier(self, subscription: str, inputs: Properties) -> str:
        return cluster_id(subscription, str(inputs["resourceGroupName"]), str(inputs["resourceName"]))

    async def create(self, record: Record) -> None:
        """Check, start the control plane, and let the pools' machines join."""
        account, inputs = self._account, record["inputs"]
        name, subscription = str(inputs["resourceName"]), record["id"].split("/")[2]
        group = require_group(account, subscription, str(inputs["resourceGroupName"]))
        region = str(inputs.get("location") or group["inputs"]["location"])
        version = full_version(inputs.get("kubernetesVersion"), name)
        if not (inputs.get("dnsPrefix") or inputs.get("fqdnSubdomain")):
            raise refuse("InvalidParameter", "Required parameter dnsPrefix is missing (null); set dnsPrefix")
        self._check_pools(record, region, version)
        record["simulator"] = record.get("simulator") or free_name(
            name, account.planes, partial(refuse, "Conflict")
        )
        record["state"] = _outputs(record, region, version)
        account.put(record)
        await account.start_plane(record["simulator"], version)
        await self.join(record)
        record["state"]["provisioningState"] = "Succeeded"
        account.put(record)

    async def update(self, record: Record, news: Properties) -> None:
        """Change what can be changed in place.

        Raises:
            CloudRefusal: AKS or the rehearsal cannot.
        """
        state = record["state"]
        version = str(state["currentKubernetesVersion"])
        if news.get("kubernetesVersion"):
            asked = full_version(news["kubernetesVersion"], str(state["name"]))
            refuse_jump(version, asked)
            version = asked
        region = str(state["location"])
        self._check_pools({**record, "inputs": news}, region, version)
        if version != state["currentKubernetesVersion"]:
            await self._account.upgrade_plane(record["simulator"], version)
        record["inputs"] = news
        record["state"] = {**_outputs(record, region, version), "provisioningState": "Succeeded"}
        await self.join(record)
        self._account.put(record)

    async def delete(self, record: Record) -> None:
        """Stop the control plane; pools and maintenance configurations go with it."""
        record["state"]["provisioningState"] = "Deleting"
        self._account.put(record)
        if record.get("simulator"):
            await self._account.planes.stop(record["simulator"])
        for inside in self._account.inside(record["id"]):
            self._account.remove(inside)

    async def join(self, record: Record) -> None:
        """Let exactly the machines of all the cluster's pools join."""
        version = f"v{record['state']['currentKubernetesVersion']}"
        await self._account.planes.set_nodes(record["simulator"], version, self._machines(record))

    def _machines(self, record: Record) -> list[NodeHardware]:
        return [
            machine
            for name, (_, pool) in self.pools_of(record).items()
            for machine in machines(pool, name, record["state"], record["id"])
        ]

    def pools_of(self, cluster: Record) -> dict[str, tuple[Record, Properties]]:
        """Return the pools of a cluster by name, each with the record of the resource that declares it."""
        remembered: Properties = cluster["inputs"].get(SCALED, {})
        pools = [
            (str(pool["name"]), (cluster, {**pool, SCALED: remembered.get(pool["name"], {})}))
            for pool in own_pools(cluster)
        ]
        pools += [
            (str(one["inputs"]["agentPoolName"]), (one, one["inputs"]))
            for one in self._account.all(POOL, cluster["id"] + "/")
            if one["state"].get("provisioningState") != "Deleting"
        ]
        return dict(pools)  # a pool declared in both places is one pool; its own resource says more

    def scaled_pools(self) -> list[ScaledPool]:
        """Return the pools with `enableAutoScaling`, of clusters that are complete."""
        return [
            _scaled_pool(cluster, record, name, pool)
            for cluster in self._account.all(CLUSTER)
            if cluster["state"]["provisioningState"] == "Succeeded"
            for name, (record, pool) in self.pools_of(cluster).items()
            if pool.get("enableAutoScaling") and record["state"]["provisioningState"] == "Succeeded"
        ]

    def _check_pools(self, record: Record, region: str, version: str) -> None:
        pools = own_pools(record)
        if not any(str(pool.get("mode", "")).lower() == "system" for pool in pools):
            raise refuse(
                "InvalidParameter",
                "The cluster must define at least one agent pool with mode System; "
                "add it to agentPoolProfiles",
            )
        present = self._account.find(CLUSTER, record["id"])
        had = {pool["name"]: pool for pool in own_pools(present)} if present else {}
        others = [pool for pool in self.pools_everywhere() if pool["cluster"] != record["id"].lower()]
        refuse_other_network(pools)
        for pool in pools:
            refuse_invalid(str(pool["name"]), pool)
            name = str(pool["name"])
            refuse_incompatible(name, full_version(pool.get("orchestratorVersion") or version, name), version)
            before = int(had.get(pool["name"], {}).get("count", 0))
            refuse_beyond_limits(pool, others, region, self._account.limits, had=before)

    def pools_everywhere(self) -> list[Properties]:
        """All pools of the subscription, each with its `cluster` and `pool` name."""
        inside = [
            {**pool, "cluster": cluster["id"].lower(), "pool": pool["name"]}
            for cluster in self._account.all(CLUSTER)
            for pool in own_pools(cluster)
        ]
        own = [
            {
                **one["inputs"],
                "cluster": one["id"].lower().rsplit("/", 2)[0],
                "pool": one["inputs"]["agentPoolName"],
            }
            for one in self._account.all(POOL)
        ]
        return inside + own


def _scaled_pool(cluster: Record, record: Record, name: str, pool: Properties) -> ScaledPool:
    size, inputs = count_of(pool), record["inputs"]

    def inputs_with(count: int, gone: int | None) -> Properties:
        changed = {**scaled(pool, count, gone), "count": count}
        if record is not cluster:
            return changed
        profiles = [one if one["name"] != name else seen_by_plugins(changed) for one in own_pools(cluster)]
        remembered = {**inputs.get(SCALED, {}), name: changed[SCALED]}
        return {**inputs, "agentPoolProfiles": profiles, SCALED: remembered}

    found = machines({**pool, "count": size + 1}, name, cluster["state"], cluster["id"])
    return ScaledPool(
        cluster=cluster["simulator"],
        name=name,
        resource=(record["type"], record["id"]),
        least=int(pool["minCount"]),
        most=int(pool["maxCount"]),
        machines=dict(zip(numbers_of(pool, size), found, strict=False)),
        fresh=found[-1],
        inputs_with=inputs_with,
    )


def own_pools(record: Record) -> list[Properties]:
    """Return the pools declared inside a cluster."""
    return cast("list[Properties]", record["inputs"].get("agentPoolProfiles") or [])


def _identity(inputs: Properties, identifier: str) -> Properties:
    """Return the identity as Azure does: users by id where the plugin has a list, the system's with ids."""
    given = cast("Properties | None", inputs.get("identity"))
    if given is None:
        return {}
    users = cast("list[str]", given.get("userAssignedIdentities") or [])
    if users:
        ids = {user: {"clientId": _object_id(f"c {user}"), "principalId": _object_id(user)} for user in users}
        return {"identity": {**given, "userAssignedIdentities": ids}}
    return {"identity": {**given, "principalId": _object_id(identifier), "tenantId": TENANT}}


def _object_id(text: str) -> str:
    return stable_uuid("entra", text)


def _outputs(record: Record, region: str, version: str) -> dict[str, Any]:
    inputs, identifier = record["inputs"], record["id"]
    group, name = str(inputs["resourceGroupName"]), str(inputs["resourceName"])
    kept = {
        key: value for key, value in inputs.items() if key not in _NEVER_RETURNED and key != "resourceName"
    }
    kept.pop("resourceGroupName", None)
    prefix = inputs.get("dnsPrefix") or inputs["fqdnSubdomain"]
    host = f"{prefix}-{letters_of(identifier)}"
    private = bool(at(inputs, "apiServerAccessProfile.enablePrivateCluster"))
    names = {"privateFQDN": f"{host}.privatelink.{region}.azmk8s.io"} if private else {}
    pools = [{**pool, "currentOrchestratorVersion": version} for pool in own_pools(record)]
    return {
        **kept,
        **names,
        **_identity(inputs, identifier),
        "agentPoolProfiles": [{**pool, "provisioningState": "Succeeded"} for pool in pools],
        "azureApiVersion": API_VERSION,
        "azurePortalFQDN": f"{host}.portal.hcp.{region}.azmk8s.io",
        "currentKubernetesVersion": version,
        "enableRBAC": inputs.get("enableRBAC", True),
        "fqdn": f"{host}.hcp.{region}.azmk8s.io",
        "kubernetesVersion": inputs.get("kubernetesVersion") or version,
        "location": region,
        "maxAgentPools": 100,
        "name": name,
        "nodeResourceGroup": inputs.get("nodeResourceGroup") or f"MC_{group}_{name}_{region}",
        "oidcIssuerProfile": {
            "enabled": True,
            "issuerURL": f"https://{region}.oic.prod-aks.azure.com/{letters_of(identifier, 36)}/",
        },
        "powerState": {"code": "Running"},
        "provisioningState": "Creating",
        "resourceUID": digits_of(identifier, 15),
        "type": "Microsoft.ContainerService/ManagedClusters",
    }


@functools.cache
def _fields(model: str) -> dict[str, Any]:
    """Return the writable fields of a model by their JSON name, with types; nested `properties` are flat."""
    from azure.mgmt.containerservice import models  # noqa: PLC0415 - loaded late, see above

    found = getattr(models, model)
    fields: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(found, {**vars(models), "_models": models}).items():
        rest: Any = inspect.getattr_static(found, name, None)
        if type(rest).__name__ != "_RestField":
            continue
        if name == "properties":
            fields.update(_fields(next(item.__name__ for item in _options(hint))))
        elif rest._visibility != ["read"]:  # noqa: SLF001 - the only place where it says so
            fields[rest._rest_name_input or name] = hint  # noqa: SLF001
    return fields


def _model_faults(model: str, value: Properties, path: str) -> typing.Iterator[WrongInput]:
    fields = _fields(model)
    for key, item in value.items():
        place = f"{path}.{key}" if path else key
        if key not in fields:
            allowed = ", ".join(sorted(fields))
            yield WrongInput(path=place, reason=f"{key!r} is not a property of {model}; it has: {allowed}")
        elif key not in _LIST_INSTEAD_OF_MAP:
            yield from _value_faults(fields[key], item, place)


def _value_faults(hint: Any, value: object, path: str) -> typing.Iterator[WrongInput]:  # noqa: ANN401 - a type
    if value is None or is_unknown(value):
        return
    options = _options(hint)
    enum = next((item for item in options if isinstance(item, type) and issubclass(item, Enum)), None)
    if enum is not None:
        known = [str(item.value) for item in enum]
        if not isinstance(value, str) or value.lower() not in {item.lower() for item in known}:
            yield WrongInput(path=path, reason=f"{value!r} is none of {', '.join(known)}")
        return
    yield from _shape_faults(options[0], value, path)


def _shape_faults(kind: Any, value: object, path: str) -> typing.Iterator[WrongInput]:  # noqa: ANN401 - a type
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is list and isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _value_faults(arguments[0], item, f"{path}[{index}]")
    elif origin is dict and isinstance(value, dict):
        for key, item in cast("Properties", value).items():
            yield from _value_faults(arguments[1], item, f"{path}.{key}")
    elif origin is None and hasattr(kind, "_deserialize") and isinstance(value, dict):
        yield from _model_faults(kind.__name__, cast("Properties", value), path)
    elif not _is_a(kind, origin, value):
        requested = _NAMES.get(origin or kind, "an object")
        yield WrongInput(path=path, reason=f"{value!r} must be {requested}")


def _is_a(kind: Any, origin: Any, value: object) -> bool:  # noqa: ANN401 - types
    if origin is not None or hasattr(kind, "_deserialize"):
        return False  # a list, a map or a model, and the value is of another shape
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind is float:
        return isinstance(value, int | float)
    return not isinstance(kind, type) or kind not in _NAMES or isinstance(value, kind)


def _options(hint: Any) -> list[Any]:  # noqa: ANN401 - a type
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [_options(item) for item in typing.get_args(hint) if item is not type(None)]
        return [item for group in members for item in group]
    return [hint]
