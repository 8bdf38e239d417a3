"""ACK's managed clusters: each is a control plane of the simulator, with the machines of its node pools."""

from __future__ import annotations

import base64
from functools import cache, partial
from typing import TYPE_CHECKING, Final, Literal, cast

from pydantic import BaseModel, ConfigDict

from dra_fleet.clouds.ack.simulation.account import (
    ACCOUNT,
    ADDON,
    CLUSTER,
    INVALID,
    POOL,
    made_id,
    refuse,
    refuse_jump,
    release_of,
)
from dra_fleet.clouds.ack.simulation.pool_nodes import pool_machines, refuse_vswitches
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.core.facts import read
from dra_fleet.rehearsal.clouds.account import free_name
from dra_fleet.rehearsal.clouds.cloud import WrongInput, at, is_unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.clouds.ack.simulation.account import AckAccount
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties


_WORDS: Final = {
    "text": "a text", "flag": "true or false", "number": "a number", "texts": "a list of texts",
    "map": "an object", "object": "an object", "list": "a list of objects",
}  # fmt: skip


class Field(BaseModel):
    """An input: what it is, where ACK's API takes it, and the values there are, if they are few."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["text", "flag", "number", "texts", "map", "object", "list"]
    api: str | None = None
    values: tuple[str, ...] = ()


class Fields(BaseModel):
    """The inputs of a type by dotted path, and the model of the API's request that takes them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    request: str
    replacing: frozenset[str]
    fields: dict[str, Field]

    def below(self, path: str) -> Mapping[str, Field]:
        """Return the inputs directly below a path."""
        start = f"{path}." if path else ""
        return {
            place.removeprefix(start): field
            for place, field in self.fields.items()
            if place.startswith(start) and "." not in place.removeprefix(start)
        }


class Types(BaseModel):
    """All validated types, and where they are published."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    date: str
    types: dict[str, Fields]


@cache
def fields_of(kind: str) -> Fields:
    return all_types().types[kind]


def faults(kind: str, inputs: Properties) -> list[WrongInput]:
    """Return the inputs that do not fit a type."""
    rest = {key: value for key, value in inputs.items() if key != "__defaults"}
    return list(_object(fields_of(kind), rest, "", ""))


_TERWAY: Final = "terway-eniip"

_FLANNEL: Final = "flannel"


class AckClusters:
    """The type `alicloud:cs/managedKubernetes:ManagedKubernetes`."""

    name_key = "name"
    required = ()

    def __init__(self, account: AckAccount) -> None:
        self._account = account

    @property
    def replacing(self) -> frozenset[str]:
        """Inputs whose change needs a new cluster."""
        return fields_of(CLUSTER).replacing

    def faults(self, inputs: Properties) -> list[WrongInput]:
        return faults(CLUSTER, inputs)

    def identifier(self, scope: str, inputs: Properties) -> str:
        """Return a generated id."""
        del inputs
        return made_id("c", scope, length=32)

    async def create(self, record: Record) -> None:
        """Check, and start the control plane."""
        account, inputs = self._account, record["inputs"]
        release = release_of(inputs.get("version"))
        self._check(inputs)
        name = str(inputs["name"])
        record["simulator"] = record.get("simulator") or free_name(
            name, account.planes, partial(refuse, INVALID)
        )
        record["state"] = {**inputs, "version": release}
        account.put(record)
        await account.start_plane(record["simulator"], release, known_as=str(record["id"]))
        self._settle(record, release)

    async def update(self, record: Record, news: Properties) -> None:
        """Change what can be changed in place; a newer release restarts the control plane."""
        before = str(record["state"]["version"])
        release = release_of(news.get("version") or before)
        refuse_jump(before, release)
        self._check(news)
        if record["inputs"].get("enableRrsa") and not news.get("enableRrsa"):
            raise refuse(INVALID, "enable_rrsa cannot be turned off once it is on; leave it true")
        if release != before:
            await self._account.upgrade_plane(record["simulator"], release)
        record["inputs"] = news
        self._settle(record, release)
        if release != before:
            await self._upgrade_pools(record, release)

    async def delete(self, record: Record) -> None:
        """Stop the control plane. Its node pools go with it; what they are declared by must be gone.

        Raises:
            CloudRefusal: it is protected, or has node pools.
        """
        if record["inputs"].get("deletionProtection"):
            raise refuse(
                INVALID,
                f"cluster {record['inputs']['name']} is protected from deletion; set deletion_protection to "
                "false first",
            )
        pools = self._pools(record["id"])
        if pools:
            names = ", ".join(str(pool["inputs"].get("nodePoolName")) for pool in pools)
            raise refuse(INVALID, f"cluster has node pools ({names}); delete them first")
        await self._account.planes.stop(record["simulator"])
        for addon in self._account.all(ADDON, f"{record['id']}:"):
            self._account.remove(addon)

    async def join(self, cluster: str, *, without: str = "") -> None:
        """Let exactly the machines of all the cluster's node pools join.

        Args:
            cluster: its id.
            without: the id of a pool whose machines leave.
        """
        record = self.of_id(cluster)
        nodes = [
            machine
            for pool in self._pools(cluster)
            if pool["id"] != without
            for machine in pool_machines(self._account, pool, record)
        ]
        await self._account.planes.set_nodes(record["simulator"], f"v{record['state']['version']}", nodes)

    def of_id(self, identifier: str) -> Record:
        """Return the cluster with an id.

        Raises:
            CloudRefusal: there is none.
        """
        found = self._account.find(CLUSTER, identifier)
        if found is None:
            raise refuse("ErrorClusterNotFound", f"cluster not found: {identifier}")
        return found

    def credential(self, record: Record) -> Properties:
        """Return the administrator's kubeconfig and its parts, as `getClusterCredential` does."""
        return {
            "id": record["id"],
            "clusterId": record["id"],
            "clusterName": record["inputs"]["name"],
            "expiration": "2029-11-21T00:00:00Z",
            "kubeConfig": self._account.planes.admin_kubeconfig(record["simulator"]),
            "certificateAuthorities": [self._authority(record)],
        }

    async def _upgrade_pools(self, record: Record, release: str) -> None:
        """Node pools follow, unless only the control plane shall go."""
        if not at(record["inputs"], "upgradePolicy.controlPlaneOnly"):
            for pool in self._pools(record["id"]):
                self._account.put({**pool, "release": release})
        await self.join(record["id"])

    def _pools(self, cluster: str) -> list[Record]:
        return self._account.all(POOL, f"{cluster}:")

    def _check(self, inputs: Properties) -> None:
        vswitches = cast("list[str]", inputs.get("vswitchIds") or inputs.get("workerVswitchIds") or [])
        if not vswitches and not inputs.get("zoneIds"):
            raise refuse(INVALID, "vswitch_ids must hold at least one vSwitch, or zone_ids a zone")
        pods = cast("list[str]", inputs.get("podVswitchIds") or [])
        refuse_vswitches(self._account, [*vswitches, *pods], None)
        if bool(pods) == bool(inputs.get("podCidr")):
            raise refuse(
                INVALID,
                f"set either pod_vswitch_ids, with add-on {_TERWAY}, or pod_cidr, with add-on {_FLANNEL}",
            )
        addons = cast("list[Properties]", inputs.get("addons") or [])
        requested = _TERWAY if pods else _FLANNEL
        if not any(addon.get("name") == requested and not addon.get("disabled") for addon in addons):
            raise refuse(INVALID, f"the pods' network needs add-on {requested}; name it in addons")
        if inputs.get("profile", "Default") != "Default":
            raise refuse(
                INVALID, f"(rehearsal) profile {inputs['profile']} is not simulated; leave it Default"
            )
        if at(inputs, "autoMode.enabled"):
            raise refuse(INVALID, "(rehearsal) ACK's auto mode is not simulated; leave autoMode out")

    def _settle(self, record: Record, release: str) -> None:
        inputs, seed = record["inputs"], record["urn"]
        server, _ = self._account.planes.address(record["simulator"])
        vswitches = cast("list[str]", inputs.get("vswitchIds") or inputs.get("workerVswitchIds") or [])
        network = self._account.network_of(vswitches[0]) if vswitches else None
        public = inputs.get("slbInternetEnabled", True)
        kept = not inputs.get("skipSetCertificateAuthority")
        record["state"] = {
            "clusterSpec": "ack.standard",
            "profile": "Default",
            "proxyMode": "ipvs",
            "securityGroupId": made_id("sg-bp1", seed),
            **inputs,
            "certificateAuthorities": [self._authority(record)] if kept else [],
            "connections": [
                {
                    "apiServerInternet": server if public else "",
                    "apiServerIntranet": server,
                    "masterPublicIp": "",
                    "serviceDomain": f"*.{record['id']}.{record['region']}.alicontainer.com",
                }
            ],
            "natGatewayId": made_id("ngw-bp1", seed) if inputs.get("newNatGateway", True) else "",
            "rrsaMetadata": _rrsa(record),
            "slbInternet": made_id("lb-bp1", seed, "public") if public else "",
            "slbIntranet": made_id("lb-bp1", seed),
            "version": release,
            "vpcId": network or made_id("vpc-bp1", *(vswitches[:1] or [seed])),
            "workerRamRoleName": f"KubernetesWorkerRole-{made_id('', seed)}",
        }
        self._account.put(record)

    def _authority(self, record: Record) -> Properties:
        planes = self._account.planes
        _, authority = planes.address(record["simulator"])
        user = read_kubeconfig(planes.admin_kubeconfig(record["simulator"])).user
        return {
            "clusterCert": base64.b64encode(authority).decode(),
            "clientCert": (user and user.client_cert_data) or "",
            "clientKey": (user and user.client_key_data) or "",
        }


def _rrsa(record: Record) -> Properties:
    if not record["inputs"].get("enableRrsa"):
        return {"enabled": False}
    name = f"ack-rrsa-{record['id']}"
    return {
        "enabled": True,
        "ramOidcProviderArn": f"acs:ram::{ACCOUNT}:oidc-provider/{name}",
        "ramOidcProviderName": name,
        "rrsaOidcIssuerUrl": f"https://oidc-ack-{record['region']}.oss-{record['region']}.aliyuncs.com/{record['id']}",
    }


@cache
def all_types() -> Types:
    return Types.model_validate(read("dra_fleet.clouds.ack.simulation", "fields.yaml"))


def _object(fields: Fields, value: Properties, path: str, place: str) -> Iterator[WrongInput]:
    known = fields.below(path)
    for key, item in value.items():
        here = f"{place}.{key}" if place else key
        field = known.get(key)
        if field is None:
            allowed = ", ".join(sorted(known))
            yield WrongInput(path=here, reason=f"{key!r} is not an input here; there are: {allowed}")
        elif item is not None and not is_unknown(item):
            yield from _value(fields, field, item, f"{path}.{key}" if path else key, here)


def _value(fields: Fields, field: Field, value: object, path: str, place: str) -> Iterator[WrongInput]:
    if field.kind == "list" and isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            if isinstance(item, dict):
                yield from _object(fields, cast("Properties", item), path, f"{place}[{index}]")
    elif field.kind == "object" and isinstance(value, dict):
        yield from _object(fields, cast("Properties", value), path, place)
    elif not _is_a(field.kind, value):
        yield WrongInput(path=place, reason=f"{value!r} must be {_WORDS[field.kind]}")
    elif field.values and value not in field.values:
        yield WrongInput(
            path=place, reason=f"expected {place} to be one of {list(field.values)}, got {value}"
        )


def _is_a(kind: str, value: object) -> bool:
    match kind:
        case "flag":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "texts":
            return isinstance(value, list) and all(
                isinstance(item, str) for item in cast("list[object]", value) if not is_unknown(item)
            )
        case "map":
            return isinstance(value, dict)
        case _:
            return kind == "text" and isinstance(value, str)
