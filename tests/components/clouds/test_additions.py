import importlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pulumi
import pytest
from pulumi import _types as pulumi_types  # pyright: ignore[reportPrivateUsage] - names of arguments

import dra_fleet as dra
from components.fleet import build
from dra_fleet.core.findings.errors import SettingsInvalid
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.testing import Recorder, Registration
from tests.components.clouds.aks.test_aks import CREDENTIALS, LIVE, returned
from tests.components.program.test_program_clusters import CLOUDS, ack, aks, cloud, eks, gke

__all__ = ["cloud"]

TAGS = {"team": "ml", "cost": "shared"}
POOL_TAGS = {"cost": "own"}
CLUSTER, AGENT_POOL = (
    "azure-native:containerservice:ManagedCluster",
    "azure-native:containerservice:AgentPool",
)
SUBNET = (
    "/subscriptions/0/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/hub/subnets/{}".format
)

# By cloud: the SDK's modules, its label argument where it is not `tags`, and where a node's tags are.
MODULES = {
    "aks": ("pulumi_azure_native.containerservice", "pulumi_azure_native.resources"),
    "gke": ("pulumi_gcp.container",),
    "eks": ("pulumi_aws.eks", "pulumi_aws.ec2", "pulumi_aws.iam"),
    "ack": ("pulumi_alicloud.cs", "pulumi_alicloud.vpc"),
}
LABELS = ("tags", "resourceLabels")


def arguments_of(name: str, token: str) -> dict[str, str]:
    """Return the arguments of a resource in the SDK, Pulumi's names by Python's."""
    for module in map(importlib.import_module, MODULES[name]):
        for key in getattr(module, "__all__", None) or dir(module):
            if getattr(getattr(module, key, None), "pulumi_type", "") == token:
                return pulumi_types.input_type_py_to_pulumi_names(getattr(module, f"{key}Args"))
    return {}


def tagged(name: str, cloud: Recorder) -> Iterator[tuple[Registration, dict[str, str]]]:
    """Return the declared resources that the SDK has tags for, with the tags that they were declared with."""
    for entry in cloud.registrations.values():
        known = arguments_of(name, entry.type).values() if entry.custom else ()
        for key in LABELS:
            if key in known:
                yield entry, entry.inputs.get(key, {})
        if "nodeConfig" in entry.inputs:
            yield entry, entry.inputs["nodeConfig"].get("resourceLabels", {})


@pytest.mark.parametrize("name", CLOUDS)
def test_tags_are_on_every_resource_that_has_them(name: str, cloud: Recorder) -> None:
    program = CLOUDS[name][0]
    _, settings, _, token = CLOUDS[name]
    (key,) = settings["pools"]
    cloud.run(lambda: program(tags=TAGS, pools={key: {**pool_of(program), "tags": POOL_TAGS}}))
    found = list(tagged(name, cloud))
    assert {entry.type for entry, _ in found} >= {token}
    of_pool = {entry.name for entry, _ in found if entry.name.endswith(f"-{key}")}
    assert of_pool
    for entry, tags in found:
        expected = {**TAGS, **POOL_TAGS} if entry.name in of_pool else TAGS
        assert expected.items() <= tags.items(), entry.urn


def pool_of(program: Callable[..., Any]) -> dict[str, Any]:
    """Return the only pool that a program of `test_program_clusters` declares."""
    pools: dict[Callable[..., Any], dict[str, Any]] = {
        aks: {"machine": "Standard_NV6ads_A10_v5"},
        gke: {"machine": "g2-standard-24", "zones": ["us-central1-a"]},
        eks: {"machine": "p5.4xlarge"},
        ack: {"machine": "ecs.gn7i-c8g1.2xlarge"},
    }
    return {"min": 1, "max": 1, **pools[program]}


def test_node_machines_of_eks_and_the_system_pool_of_aks_are_tagged(cloud: Recorder) -> None:
    cloud.run(lambda: (eks(tags=TAGS), aks(tags=TAGS)))
    template = cloud.only("aws:ec2/launchTemplate:LaunchTemplate").inputs
    assert [(item["resourceType"], item["tags"]) for item in template["tagSpecifications"]] == [
        ("instance", TAGS),
        ("volume", TAGS),
        ("network-interface", TAGS),
    ]
    assert cloud.only(CLUSTER).inputs["agentPoolProfiles"][0]["tags"] == TAGS


def fleet(**cluster: Any) -> dict[str, Any]:
    return {
        "owner": "ml",
        "environment": "development",
        "kubernetes": "1.36",
        "tags": {"Team": "ml"},
        "clusters": {"studio": {"cloud": "aks", "drivers": {}, **deepcopy(CLOUDS["aks"][1]), **cluster}},
    }


def declare(cloud: Recorder, settings: dict[str, Any]) -> None:
    plan = make_plan(parse(settings))
    cloud.run(lambda: build(plan, lambda _: pulumi.Output.secret("")))


def test_stack_file_adds_tags_of_fleet_cluster_and_pool(cloud: Recorder) -> None:
    settings = fleet(tags={"cluster": "studio"})
    settings["clusters"]["studio"]["pools"]["a10"]["tags"] = {"pool": "a10"}
    declare(cloud, settings)
    assert cloud.only(CLUSTER).inputs["tags"] == {"Team": "ml", "cluster": "studio"}
    assert cloud.only(AGENT_POOL).inputs["tags"] == {"Team": "ml", "cluster": "studio", "pool": "a10"}


def test_tag_that_the_cloud_refuses_is_an_error_at_its_level() -> None:
    settings = fleet()
    settings["clusters"]["render"] = {"cloud": "gke", "drivers": {}, **CLOUDS["gke"][1]}
    with pytest.raises(SettingsInvalid) as refused:
        make_plan(parse(settings))
    assert [error.path for error in refused.value.errors] == ["dra-fleet:fleet.tags.Team"]


def test_extra_reaches_the_provider_and_keeps_what_dra_fleet_sets(cloud: Recorder) -> None:
    cluster = {"networkProfile": {"podCidr": "10.244.0.0/16"}, "nodeResourceGroup": "studio-nodes"}
    settings = fleet(extra=cluster)
    settings["clusters"]["studio"]["pools"]["a10"]["extra"] = {"maxPods": 50}
    plan = make_plan(parse(settings))
    unchecked = [text for text in plan.warnings if "not checked by any rule" in text]
    assert [text.partition(": ")[0] for text in unchecked] == [
        "dra-fleet:fleet.clusters.studio.extra",
        "dra-fleet:fleet.clusters.studio.pools.a10.extra",
    ]
    declare(cloud, settings)
    inputs = cloud.only(CLUSTER).inputs
    assert inputs["nodeResourceGroup"] == "studio-nodes"
    assert inputs["networkProfile"]["podCidr"] == "10.244.0.0/16"
    assert inputs["networkProfile"]["networkPlugin"] == "azure"
    assert cloud.only(AGENT_POOL).inputs["maxPods"] == 50


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"maxPod": 50}, "pools.a10.extra.maxPod is not an argument of AgentPoolArgs; allowed: maxPods"),
        ({"maxPods": "many"}, "pools.a10.extra.maxPods must be a whole number; got: 'many'"),
        (
            {"kubeletConfig": {"cpuManagerPolice": "static"}},
            "extra.kubeletConfig.cpuManagerPolice is not an argument of KubeletConfigArgs",
        ),
        ({"vmSize": "Standard_D2s_v5"}, "pools.a10.extra.vmSize is an argument that dra-fleet sets itself"),
    ],
)
def test_wrong_extra_stops_the_preview(extra: dict[str, Any], message: str, cloud: Recorder) -> None:
    settings = fleet()
    settings["clusters"]["studio"]["pools"]["a10"]["extra"] = extra
    with pytest.raises(pulumi.RunError) as refused:
        declare(cloud, settings)
    assert message in str(refused.value)


@pytest.fixture
def azure(recorder: Recorder) -> Recorder:
    """A recorded engine whose Azure answers."""
    recorder.answers[CREDENTIALS] = returned({"exec": {"command": "kubelogin"}})
    recorder.answers[LIVE] = {"agentPoolProfiles": []}
    return recorder


def test_extra_of_a_program_takes_outputs(azure: Recorder) -> None:
    def program() -> None:
        group = pulumi.Output.from_input("placed")
        cluster = aks(extra={"disk_encryption_set_id": group})
        dra.GpuNodePool(
            "more",
            cluster=cluster,
            machine="Standard_NC24ads_A100_v4",
            min=1,
            max=1,
            extra={"proximityPlacementGroupID": group},
        )

    azure.run(program)
    assert azure.only(CLUSTER).inputs["diskEncryptionSetID"] == "placed"
    (pool,) = [entry for entry in azure.registrations.values() if entry.name == "studio-more"][1:]
    assert pool.inputs["proximityPlacementGroupID"] == "placed"


def test_aks_cluster_of_an_existing_subnet(azure: Recorder) -> None:
    azure.run(
        lambda: aks(
            subnet=pulumi.Output.from_input(SUBNET("system")),
            pools={"a10": {**pool_of(aks), "options": {"subnet": SUBNET("gpu")}}},
        )
    )
    assert azure.only(CLUSTER).inputs["agentPoolProfiles"][0]["vnetSubnetID"] == SUBNET("system")
    assert azure.only(AGENT_POOL).inputs["vnetSubnetID"] == SUBNET("gpu")


@pytest.mark.parametrize("subnet", [None, SUBNET("system")])
def test_pool_of_an_adopted_aks_cluster_takes_the_system_pools_subnet(
    subnet: str | None, azure: Recorder
) -> None:
    pool = {"name": "system", "mode": "System", "count": 1, "vnetSubnetID": subnet}
    azure.answers[LIVE] = {"agentPoolProfiles": [pool]}
    azure.run(lambda: aks(adopt={"resource_group": "rg", "name": "theirs"}, access=None))
    assert azure.only(AGENT_POOL).inputs.get("vnetSubnetID") == subnet


def test_control_planes_are_encrypted_and_logged(cloud: Recorder) -> None:
    key = "arn:aws:kms:us-east-1:000000000000:key/1"
    google = "projects/p/locations/us/keyRings/r/cryptoKeys/k"

    def program() -> None:
        eks(encryption_key=key, logs=["audit"])
        gke(
            encryption_key=pulumi.Output.from_input(google),
            logs=["APISERVER"],
            pools={"l4": {**pool_of(gke), "options": {"service_account": "n@p.iam.gserviceaccount.com"}}},
        )
        ack(
            encryption_key="0-1",
            logs=["apiserver"],
            pools={"a10": {**pool_of(ack), "options": {"ram_role": "nodes"}}},
        )
        aks(
            identity="/subscriptions/0/id",
            encryption_key="https://v.vault.azure.net/keys/k/1",
            logs={"workspace": "/subscriptions/0/w"},
        )

    cloud.outputs[CLUSTER] = {"identity": {"type": "UserAssigned"}}
    cloud.run(program)
    found = cloud.only("aws:eks/cluster:Cluster").inputs
    assert found["encryptionConfig"] == {"provider": {"keyArn": key}, "resources": ["secrets"]}
    assert found["enabledClusterLogTypes"] == ["audit"]
    found = cloud.only("gcp:container/cluster:Cluster").inputs
    assert found["databaseEncryption"] == {"state": "ENCRYPTED", "keyName": google}
    assert found["loggingConfig"] == {"enableComponents": ["SYSTEM_COMPONENTS", "APISERVER"]}
    pools = {entry.name: entry.inputs for entry in cloud.registrations.values()}
    assert pools["render-l4"]["nodeConfig"]["serviceAccount"] == "n@p.iam.gserviceaccount.com"
    assert pools["render-l4"]["nodeConfig"]["machineType"] == "g2-standard-24"
    assert pools["asia-a10"]["ramRoleName"] == "nodes"
    found = cloud.only("alicloud:cs/managedKubernetes:ManagedKubernetes").inputs
    assert (found["encryptionProviderKey"], found["disableEncryption"]) == ("0-1", False)
    assert found["controlPlaneLogComponents"] == ["apiserver"]
    found = cloud.only(CLUSTER).inputs["securityProfile"]
    assert found["azureKeyVaultKms"]["keyId"] == "https://v.vault.azure.net/keys/k/1"
    assert found["workloadIdentity"] == {"enabled": True}
    setting = cloud.only("azure-native:monitor:DiagnosticSetting").inputs
    assert [log["category"] for log in setting["logs"]] == ["kube-apiserver", "kube-audit-admin"]
