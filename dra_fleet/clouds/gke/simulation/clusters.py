"""GKE clusters on control planes of the simulator, with inputs checked against Google's protobufs."""

from __future__ import annotations

import base64
import functools
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.clouds.gke import DRANET
from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.clouds.gke.simulation.account import (
    cluster_id,
    digits_of,
    full_version,
    is_zone,
    name_faults,
    refuse,
)
from dra_fleet.clouds.gke.simulation.pool_nodes import machines
from dra_fleet.rehearsal.clouds.account import free_name
from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput, at, is_unknown

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from dra_fleet.clouds.gke.simulation.account import GkeAccount
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.simulator.node import NodeHardware


# Objects that GKE creates first in every cluster: the kind ComputeClass, and its own DRANET.
#
# https://cloud.google.com/kubernetes-engine/docs/reference/crds/computeclass
# https://cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra

_FREE: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

_SPEC: Final = {
    "type": "object",
    "required": ["priorities"],
    "properties": {
        "priorities": {"type": "array", "minItems": 1, "items": _FREE},
        "priorityDefaults": _FREE,
        "activeMigration": _FREE,
        "autoscalingPolicy": _FREE,
        "nodePoolAutoCreation": _FREE,
        "nodePoolConfig": _FREE,
        "whenUnsatisfiable": {"type": "string", "enum": ["ScaleUpAnyway", "DoNotScaleUp"]},
    },
}


def _custom_kind(
    kind: str, group: str, scope: str, spec: dict[str, Any], **annotations: str
) -> dict[str, Any]:
    """Return the CustomResourceDefinition of a kind in its version v1."""
    plural = f"{kind.lower()}{'es' if kind.endswith('s') else 's'}"
    schema = {"type": "object", "properties": {"spec": spec, "status": _FREE}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", **({"annotations": annotations} if annotations else {})},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


_KINDS: Final = (
    _custom_kind("ComputeClass", "cloud.google.com", "Cluster", _SPEC),
    # https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/apis/provisioningrequest
    _custom_kind(
        "ProvisioningRequest",
        "autoscaling.x-k8s.io",
        "Namespaced",
        _FREE,
        **{"api-approved.kubernetes.io": "https://github.com/kubernetes/autoscaler/pull/5848"},
    ),
)

_DRIVER: Final = "networking-dra-driver"

_NAMESPACE: Final = f"gke-managed-{_DRIVER}"

_APP: Final = {"k8s-app": _DRIVER}


# Rights of DRANET in its chart: https://github.com/kubernetes-sigs/dranet, deployments/helm/dranet
_RULES: Final = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceslices"],
        "verbs": ["list", "watch", "create", "update", "delete"],
    },
    {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims", "deviceclasses"], "verbs": ["get"]},
]

_POD: Final = {
    "serviceAccountName": _DRIVER,
    "hostNetwork": True,
    "priorityClassName": "system-node-critical",
    "nodeSelector": {DRANET: "true"},
    "tolerations": [{"operator": "Exists"}],
    "containers": [{"name": _DRIVER, "image": f"gke.gcr.io/{_DRIVER}", "command": ["/dranet"]}],
}

_ROLE: Final = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": _DRIVER}


def of_every_cluster(version: str) -> list[dict[str, Any]]:
    """Return the objects that every new cluster has.

    Args:
        version: GKE's, such as 1.35.8-gke.1036000.
    """
    facts = gke_facts()
    has_dranet = (facts.numbers(version) or ()) >= (facts.numbers(facts.floor("dranet").version) or ())
    return [*_KINDS, *(_networking() if has_dranet else ())]


CLUSTER: Final = "gcp:container/cluster:Cluster"

POOL: Final = "gcp:container/nodePool:NodePool"


class GkeClusters:
    """The type `gcp:container/cluster:Cluster`.

    What replaces: ForceNew of google_container_cluster in
    https://github.com/hashicorp/terraform-provider-google
    """

    name_key = "name"
    place_key = "location"
    required = ("location",)
    replacing = frozenset(
        {
            "location", "name", "project", "network", "subnetwork", "networkingMode", "ipAllocationPolicy",
            "datapathProvider", "enableMultiNetworking", "enableAutopilot", "initialNodeCount",
            "clusterIpv4Cidr", "enableKubernetesAlpha", "enableTpu",
            "privateClusterConfig.masterIpv4CidrBlock", "removeDefaultNodePool",
        }
    )  # fmt: skip

    def __init__(self, account: GkeAccount) -> None:
        self._account = account

    def faults(self, inputs: Properties) -> list[WrongInput]:
        return [*name_faults(inputs), *faults("Cluster", inputs)]

    def identifier(self, project: str, inputs: Properties) -> str:
        return cluster_id(project, str(inputs["location"]), str(inputs["name"]))

    async def create(self, record: Record) -> None:
        """Check and start the control plane, with what GKE puts into every cluster."""
        account, inputs = self._account, record["inputs"]
        version = full_version(inputs.get("minMasterVersion"))
        self._refuse_invalid(inputs)
        refuse_taken = partial(refuse, "ALREADY_EXISTS")
        record["simulator"] = record.get("simulator") or free_name(
            str(inputs["name"]), account.planes, refuse_taken
        )
        record["state"] = _outputs(record, version)
        account.put(record)
        await account.start_plane(record["simulator"], version)
        await account.planes.apply(record["simulator"], of_every_cluster(version))
        record["state"] = {**record["state"], **self._address(record), "status": "RUNNING"}
        account.put(record)

    async def update(self, record: Record, news: Properties) -> None:
        """Change what can be changed in place, also the version; nodes follow at once, not pool by pool."""
        state = record["state"]
        asked = full_version(news.get("minMasterVersion") or state["masterVersion"])
        if asked != state["masterVersion"]:
            await self._account.upgrade_plane(record["simulator"], asked)
        self._refuse_invalid(news)
        record["inputs"] = news
        record["state"] = {**_outputs(record, asked), **self._address(record), "status": "RUNNING"}
        self._account.put(record)
        await self.join(record)

    async def delete(self, record: Record) -> None:
        """Stop the control plane; all pools go with it.

        Raises:
            CloudRefusal: the cluster is locked against it.
        """
        if record["inputs"].get("deletionProtection", True):
            raise refuse(
                "FAILED_PRECONDITION",
                f"Cannot destroy cluster {record['inputs']['name']} because deletion_protection is set to "
                "true; set it to false first",
            )
        record["state"]["status"] = "STOPPING"
        self._account.put(record)
        if record.get("simulator"):
            await self._account.planes.stop(record["simulator"])
        for pool in self._account.all(POOL, f"{record['id']}/"):
            self._account.remove(pool)

    async def join(self, record: Record) -> None:
        """Let exactly the machines of all the cluster's pools join."""
        version = f"v{record['state']['masterVersion']}"
        await self._account.planes.set_nodes(record["simulator"], version, self._machines(record))

    def _machines(self, record: Record) -> list[NodeHardware]:
        return [
            machine
            for pool in self._account.all(POOL, f"{record['id']}/")
            if pool["state"].get("status") != "STOPPING"
            for machine in machines(pool["inputs"], record["state"], record["id"])
        ]

    def _refuse_invalid(self, inputs: Properties) -> None:
        if inputs.get("enableAutopilot"):
            raise refuse(
                "INVALID_ARGUMENT",
                "the rehearsal has no Autopilot clusters, which have no DRA; leave enableAutopilot out",
            )
        if not inputs.get("removeDefaultNodePool"):
            raise refuse(
                "INVALID_ARGUMENT",
                "the rehearsal makes no default node pool; set removeDefaultNodePool to true and declare "
                "each NodePool by itself",
            )
        if inputs.get("enableMultiNetworking") and inputs.get("datapathProvider") != "ADVANCED_DATAPATH":
            raise refuse("INVALID_ARGUMENT", "Multi-networking requires datapathProvider ADVANCED_DATAPATH")

    def _address(self, record: Record) -> Properties:
        """Return the address of the API server. Its DNS endpoint has the same address.

        The name is never resolved.
        """
        server, authority = self._account.planes.address(record["simulator"])
        host = server.partition("://")[2]
        given = cast("Properties", record["inputs"].get("controlPlaneEndpointsConfig") or {})
        dns: Properties = {**(given.get("dnsEndpointConfig") or {}), "endpoint": host}
        return {
            "endpoint": host,
            "masterAuth": {"clusterCaCertificate": base64.b64encode(authority).decode()},
            "controlPlaneEndpointsConfig": {**given, "dnsEndpointConfig": dns},
        }

    def found(self, record: Record) -> dict[str, Any]:
        """Return the cluster as the function `getCluster` does, with nested blocks as lists."""
        state = {**record["state"], **self._address(record)}
        return {
            "id": record["id"],
            "name": state["name"],
            "location": state["location"],
            "endpoint": state["endpoint"],
            "masterVersion": state["masterVersion"],
            "controlPlaneEndpointsConfigs": [
                {
                    "dnsEndpointConfigs": [at(state, "controlPlaneEndpointsConfig.dnsEndpointConfig")],
                    "ipEndpointsConfigs": [],
                }
            ],
            "masterAuths": [
                {"clientCertificateConfigs": [], "clientCertificate": "", "clientKey": ""}
                | state["masterAuth"]
            ],
        }


def _outputs(record: Record, version: str) -> dict[str, Any]:
    inputs = record["inputs"]
    location = str(inputs["location"])
    return {
        **inputs,
        "masterVersion": version,
        "nodeVersion": version,
        "selfLink": f"https://container.googleapis.com/v1/{record['id']}",
        "nodeLocations": inputs.get("nodeLocations")
        or ([] if is_zone(location) else [f"{location}-{z}" for z in "abc"]),
        "labelFingerprint": digits_of(record["id"]),
        "servicesIpv4Cidr": "34.118.224.0/20",
        "status": "PROVISIONING",
    }


def _networking() -> list[dict[str, Any]]:
    """Return GKE's build of DRANET, which runs on nodes of pools with its label, and its classes."""
    here = {"name": _DRIVER, "namespace": _NAMESPACE}
    classes = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": item.name},
            "spec": {"selectors": [{"cel": {"expression": item.cel}}]},
        }
        for item in gke_facts().dranet_classes
    ]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": _DRIVER},
            "rules": _RULES,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": _DRIVER},
            "roleRef": _ROLE,
            "subjects": [{"kind": "ServiceAccount", **here}],
        },
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": here,
            "spec": {
                "selector": {"matchLabels": _APP},
                "template": {"metadata": {"labels": _APP}, "spec": _POD},
            },
        },
        *classes,
    ]


# The package is heavy, so it is loaded when the first GKE resource is checked.

_NODE: Final = {
    "guestAccelerators": "accelerators",
    "guestAccelerators.type": "acceleratorType",
    "guestAccelerators.count": "acceleratorCount",
    "localNvmeSsdBlockConfig.localSsdCount": "localSsdCount",
    "gcfsConfig.enabled": "enabled",
}
"""The plugin's names that differ from the API's, by the plugin's path."""
RENAMED: Final[dict[str, dict[str, str]]] = {
    "Cluster": {
        "minMasterVersion": "initialClusterVersion",
        "nodeLocations": "locations",
        "maintenancePolicy.recurringWindow": "window.recurringWindow",
        "maintenancePolicy.recurringWindow.startTime": "window.startTime",
        "maintenancePolicy.recurringWindow.endTime": "window.endTime",
        "datapathProvider": "networkConfig.datapathProvider",
        "enableMultiNetworking": "networkConfig.enableMultiNetworking",
        "enableIntranodeVisibility": "networkConfig.enableIntraNodeVisibility",
        "enableAutopilot": "autopilot.enabled",
        "nodeConfig": "nodeConfig",
        **{f"nodeConfig.{path}": name for path, name in _NODE.items()},
    },
    "NodePool": {
        "nodeConfig": "config",
        "nodeLocations": "locations",
        "maxPodsPerNode": "maxPodsConstraint.maxPodsPerNode",
        **{f"nodeConfig.{path}": name for path, name in _NODE.items()},
    },
}
BESIDE: Final = {
    "Cluster": frozenset({"project", "removeDefaultNodePool", "deletionProtection", "networkingMode"}),
    "NodePool": frozenset({"project", "location", "cluster", "nodeCount"}),
}
"""Inputs of the plugin that are not part of the message."""


def faults(model: str, inputs: Properties) -> list[WrongInput]:
    """Return the inputs that do not fit the message, at most one failure per key.

    Args:
        model: "Cluster" or "NodePool".
        inputs: as the plugin's SDK names them.
    """
    failures: list[WrongInput] = []
    for key, value in inputs.items():
        if key in BESIDE[model] or is_unknown(value):
            continue
        reason = _parse(model, _placed(model, key, value))
        if reason:
            failures.append(WrongInput(path=key, reason=reason))
    return failures


def _placed(model: str, key: str, value: object) -> Properties:
    message: Any = _renamed(model, key, value)
    for name in reversed(RENAMED[model].get(key, key).split(".")):
        message = {name: message}
    return cast("Properties", message)


def _renamed(model: str, path: str, value: object) -> object:
    if isinstance(value, list):
        return [_renamed(model, path, item) for item in cast("list[object]", value) if not is_unknown(item)]
    if not isinstance(value, dict):
        return value
    renamed: Properties = {}
    for key, item in cast("Properties", value).items():
        if is_unknown(item):
            continue
        below = _renamed(model, f"{path}.{key}", item)
        # A key without another name is taken whole: labels have dots.
        other = RENAMED[model].get(f"{path}.{key}")
        *above, name = other.split(".") if other else [key]
        place = renamed
        for part in above:
            place = place.setdefault(part, {})
        place[name] = below
    return renamed


def _parse(model: str, content: Properties) -> str:
    from google.protobuf import json_format  # noqa: PLC0415 - loaded late, see above

    try:
        json_format.ParseDict(content, _message(model)())
    except json_format.ParseError as error:
        return _last_words(str(error))
    return ""


@functools.cache
def _message(model: str) -> type[Message]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about the age of Python, not about this program
        from google.cloud.container_v1 import types  # noqa: PLC0415 - loaded late, see above

    found: Any = getattr(types, model)
    return cast("type[Message]", type(found.pb(found())))


def _last_words(text: str) -> str:
    """Return the innermost of protobuf's nested messages, in one line."""
    while text.startswith("Failed to parse ") and " field: " in text:
        text = text.partition(" field: ")[2]
    return " ".join(text.split()).removesuffix(".")
