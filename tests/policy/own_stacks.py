"""This project's own stacks as rules see them: the program is run against a recorded engine."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import pulumi
import yaml
from msgspec.structs import replace

from components.fleet import build
from dra_fleet.clouds.gke.settings import GkeClusterSettings
from dra_fleet.core.declared.resources import Provider, Resource
from dra_fleet.core.declared.values import Missing
from dra_fleet.core.declared.values import Secret as Hidden
from dra_fleet.core.findings.engine_events import UNKNOWNS
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.model.plan import FleetPlan
from dra_fleet.testing import Recorder, Registration, Secret

PROJECT: Final = Path(__file__).resolve().parents[2]
STACKS: Final = (PROJECT / "Pulumi.dev.yaml", *sorted((PROJECT / "examples").glob("*.yaml")))

_KUBECONFIG: Final = yaml.safe_dump(
    {
        "clusters": [
            {
                "name": "c",
                "cluster": {"server": "https://c.example.com", "certificate-authority-data": "Q0E="},
            }
        ],
        "users": [{"name": "u", "user": {"exec": {"command": "kubelogin"}}}],
    }
)
_VPC: Final = {"vpcId": "vpc-0a", "clusterSecurityGroupId": "sg-0c"}
_ANSWERS: Final[Mapping[str, dict[str, Any]]] = {
    "azure-native:containerservice:getManagedCluster": {"agentPoolProfiles": []},
    "aws:eks/getNodeGroups:getNodeGroups": {"names": []},
    "azure-native:containerservice:listManagedClusterUserCredentials": {
        "kubeconfigs": [{"name": "clusterUser", "value": base64.b64encode(_KUBECONFIG.encode()).decode()}]
    },
    "gcp:container/getCluster:getCluster": {
        "endpoint": "10.0.0.2",
        "controlPlaneEndpointsConfigs": [
            {"dnsEndpointConfigs": [{"endpoint": "gke-0.us-central1.gke.goog"}], "ipEndpointsConfigs": []}
        ],
        "masterAuths": [{"clusterCaCertificate": "Q0E="}],
    },
    "aws:eks/getCluster:getCluster": {
        "endpoint": "https://c.example.com",
        "certificateAuthorities": [{"data": "Q0E="}],
        "kubernetesNetworkConfigs": [{"serviceIpv4Cidr": "172.20.0.0/16"}],
        "vpcConfig": _VPC,
    },
    "alicloud:cs/getClusterCredential:getClusterCredential": {
        "certificateAuthorities": [{"clusterCert": "Q0E=", "clientCert": "", "clientKey": ""}]
    },
}
_OUTPUTS: Final[Mapping[str, dict[str, Any]]] = {
    "azure-native:resources:ResourceGroup": {"name": "group"},
    "azure-native:containerservice:ManagedCluster": {"name": "cluster"},
    "aws:eks/cluster:Cluster": {
        "endpoint": "https://c.example.com",
        "certificateAuthority": {"data": "Q0E="},
        "kubernetesNetworkConfig": {"serviceIpv4Cidr": "172.20.0.0/16"},
        "vpcConfig": _VPC,
    },
    "aws:ec2/launchTemplate:LaunchTemplate": {"latestVersion": 3},
    "alicloud:cs/managedKubernetes:ManagedKubernetes": {
        "connections": [{"apiServerIntranet": "https://10.40.0.7:6443", "apiServerInternet": ""}]
    },
}
_DECLARED: Final[dict[tuple[Path, bool, bool], list[Resource]]] = {}


def declared(recorder: Recorder, stack: Path, *, preview: bool, production: bool = False) -> list[Resource]:
    """The resources of a stack file; what it exports is not among them.

    Args:
        recorder: a recorded engine that nothing ran on yet.
        stack: the stack file.
        preview: whether what only a cloud knows is unknown, as in the first preview; else it is known.
        production: whether the stack says that it is production.
    """
    key = (stack, preview, production)
    if key not in _DECLARED:
        plan = make_plan(read_stack_file(stack).settings)
        plan = _as_production(plan) if production else plan
        _DECLARED[key] = run_fleet(recorder, plan, preview=preview)
    return [replace(resource, unknowns={}) for resource in _DECLARED[key]]


def _as_production(plan: FleetPlan) -> FleetPlan:
    """Return a plan as production has it: GKE's API server answers inside Google Cloud only."""
    clusters = tuple(
        replace(
            each,
            settings=each.settings.model_copy(update={"access": type(each.settings.access)(external=False)}),
        )
        if isinstance(each.settings, GkeClusterSettings) and each.settings.access is not None
        else each
        for each in plan.clusters
    )
    return replace(plan, environment="production", clusters=clusters)


def run_fleet(recorder: Recorder, plan: FleetPlan, *, preview: bool) -> list[Resource]:
    """Declare a fleet against the recorded engine."""
    recorder.preview = preview
    recorder.answers.update(_ANSWERS)
    if not preview:
        recorder.outputs.update(_OUTPUTS)
    recorder.run(lambda: build(plan, _secret))
    return [_resource(recorder, entry) for entry in recorder.registrations.values()]


def _secret(key: str) -> pulumi.Output[str]:
    raise AssertionError(f"the program asked for the secret {key}")


def _resource(recorder: Recorder, entry: Registration) -> Resource:
    inputs = _marked(entry.inputs)
    return Resource(
        type=entry.type,
        name=entry.name,
        urn=entry.urn,
        protect=bool(entry.protect),
        delete_before_replace=entry.delete_before_replace,
        parent=entry.parent,
        dependencies=tuple(entry.dependencies),
        provider=_provider(recorder, entry),
        read=lambda: inputs,
        read_outputs=lambda: inputs,
    )


def _provider(recorder: Recorder, entry: Registration) -> Provider | None:
    made = recorder.registrations.get(entry.provider.rpartition("::")[0])
    if made is None:
        return None
    inputs = _marked(made.inputs)
    return Provider(type=made.type, name=made.name, urn=made.urn, read=lambda: inputs)


def _marked(inputs: Mapping[str, Any]) -> dict[str, object]:
    return cast("dict[str, object]", _mark(inputs))


def _mark(value: object) -> object:
    if isinstance(value, Secret):
        return Hidden(_mark(value.value))
    if isinstance(value, str) and value in UNKNOWNS:
        return Missing.UNKNOWN
    if isinstance(value, dict):
        return {key: _mark(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_mark(item) for item in cast("list[Any]", value)]
    return value
