from typing import Any

import pulumi
import pytest

from components.clouds.additions import StackOutputs, exported_text
from components.fleet import build
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.model.settings import StackOutput
from dra_fleet.testing import Recorder
from tests.clouds.ack import ack_fleets
from tests.clouds.aks.aks_fleets import vgpu
from tests.clouds.eks.eks_fleets import h100
from tests.clouds.gke.gke_fleets import l4
from tests.components.clouds.aks.test_aks import returned

STACK = "acme/infra/prod"
REFERENCE = "pulumi:pulumi:StackReference"
EXPORTED: dict[str, Any] = {
    "clusterName": "shared",
    "clusterId": ack_fleets.CLUSTER_ID,
    "group": "theirs",
    "network": "projects/acme/global/networks/shared",
    "nodeRole": "arn:aws:iam::000000000000:role/nodes",
    "subnets": {"us-east-1a": "subnet-0000000a", "us-east-1b": "subnet-0000000b"},
    "vswitches": ack_fleets.GIVEN,
}
ANSWERS: dict[str, dict[str, Any]] = {
    "aws:eks/getCluster:getCluster": {
        "endpoint": "https://shared.example.com",
        "certificateAuthorities": [{"data": "Q0E="}],
        "kubernetesNetworkConfigs": [{"serviceIpv4Cidr": "172.20.0.0/16"}],
        "vpcConfig": {"vpcId": "vpc-0a", "clusterSecurityGroupId": "sg-0c"},
    },
    "aws:eks/getNodeGroups:getNodeGroups": {"names": []},
    "gcp:container/getCluster:getCluster": {
        "endpoint": "203.0.113.7",
        "controlPlaneEndpointsConfigs": [],
        "masterAuths": [{"clusterCaCertificate": "Q0E="}],
    },
    "alicloud:cs/getManagedKubernetesClusters:getManagedKubernetesClusters": {
        "clusters": [
            {"id": ack_fleets.CLUSTER_ID, "connections": [{"apiServerIntranet": "https://10.0.0.7"}]}
        ]
    },
    "alicloud:cs/getClusterCredential:getClusterCredential": {
        "certificateAuthorities": [{"clusterCert": "CA"}]
    },
    "azure-native:containerservice:getManagedCluster": {"agentPoolProfiles": []},
    "azure-native:containerservice:listManagedClusterUserCredentials": returned(
        {"exec": {"command": "kubelogin"}}
    ),
}


def output(name: str, key: str | None = None) -> dict[str, str]:
    return {"stack": STACK, "output": name, **({"key": key} if key else {})}


def keyed(name: str) -> dict[str, dict[str, str]]:
    return {key: output(name, key) for key in EXPORTED[name]}


@pytest.fixture
def exporting(recorder: Recorder) -> Recorder:
    """A recorded engine with the other stack's outputs, whose clouds know the cluster."""
    recorder.outputs[REFERENCE] = {"outputs": EXPORTED}
    recorder.answers.update(ANSWERS)
    recorder.outputs["aws:eks/cluster:Cluster"] = {
        "endpoint": "https://own.example.com",
        "certificateAuthority": {"data": "Q0E="},
        "kubernetesNetworkConfig": {"serviceIpv4Cidr": "172.20.0.0/16"},
        "vpcConfig": {"vpcId": "vpc-0a", "clusterSecurityGroupId": "sg-0c"},
    }
    return recorder


@pytest.mark.parametrize(
    ("fleet", "adopt", "kind", "inputs"),
    [
        (
            vgpu(),
            {"resourceGroup": output("group"), "name": output("clusterName")},
            "azure-native:containerservice:AgentPool",
            {"resourceGroupName": "theirs", "resourceName": "shared"},
        ),
        (
            h100(),
            {"name": output("clusterName"), "subnets": keyed("subnets"), "nodeRole": output("nodeRole")},
            "aws:eks/nodeGroup:NodeGroup",
            {
                "clusterName": "shared",
                "subnetIds": list(EXPORTED["subnets"].values()),
                "nodeRoleArn": EXPORTED["nodeRole"],
            },
        ),
        (l4(), {"name": output("clusterName")}, "gcp:container/nodePool:NodePool", {"cluster": "shared"}),
        (
            ack_fleets.a10(),
            {"id": output("clusterId"), "vswitches": keyed("vswitches")},
            "alicloud:cs/nodePool:NodePool",
            {"clusterId": ack_fleets.CLUSTER_ID, "vswitchIds": list(ack_fleets.GIVEN.values())},
        ),
    ],
    ids=["aks", "eks", "gke", "ack"],
)
def test_pools_come_into_the_cluster_that_another_stack_exports(
    fleet: dict[str, Any], adopt: dict[str, Any], kind: str, inputs: dict[str, Any], exporting: Recorder
) -> None:
    [(name, cluster)] = fleet["clusters"].items()
    del cluster["create"], cluster["access"]
    cluster["adopt"] = adopt

    exporting.run(lambda: build(make_plan(parse(fleet)), no_secret))

    asked = exporting.only(kind).inputs
    assert {key: asked[key] for key in inputs} == inputs
    reference = exporting.only(REFERENCE)
    assert (reference.name, reference.inputs["name"]) == (f"{name}-reference", STACK)


def test_a_cluster_is_made_in_networks_that_another_stack_exports(exporting: Recorder) -> None:
    on_aws, on_google = h100(), l4()
    on_aws["clusters"]["train"]["create"] = {"subnets": keyed("subnets")}
    [render] = on_google["clusters"].values()
    render["create"] = {"network": output("network")}

    for fleet in (on_aws, on_google):
        exporting.run(lambda fleet=fleet: build(make_plan(parse(fleet)), no_secret))

    eks = exporting.only("aws:eks/cluster:Cluster").inputs
    assert eks["vpcConfig"]["subnetIds"] == list(EXPORTED["subnets"].values())
    gke = exporting.only("gcp:container/cluster:Cluster").inputs
    assert gke["network"] == EXPORTED["network"]


def test_each_of_several_stacks_is_referenced_once(recorder: Recorder) -> None:
    recorder.outputs[REFERENCE] = {"outputs": EXPORTED}
    requested = [StackOutput(stack=stack, output="group") for stack in (STACK, "acme/network/prod", STACK)]

    def declare() -> None:
        read = StackOutputs("lab", pulumi.ComponentResource("test:lab:Lab", "lab"), {})
        for value in requested:
            read.text(value, "a name")

    recorder.run(declare)

    found = {
        (entry.name, entry.inputs["name"])
        for entry in recorder.registrations.values()
        if entry.type == REFERENCE
    }
    assert found == {("lab-reference", STACK), ("lab-reference-2", "acme/network/prod")}


@pytest.mark.parametrize("found", [None, {"apiVersion": "v1"}, 1, ["shared"]])
def test_an_output_that_is_not_there_or_no_text_is_refused_by_name(found: object) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        exported_text(
            found, "lab", StackOutput(stack=STACK, output="clusterName"), "the cluster's name in AWS"
        )
    assert str(refused.value) == (
        "cluster lab: stack acme/infra/prod exports no text named clusterName; "
        "allowed: the name of an output that holds the cluster's name in AWS; "
        "fix: look with `pulumi stack output --stack acme/infra/prod`"
    )


def test_a_value_among_those_that_another_stack_exports_is_taken_by_its_key() -> None:
    exported = {"blue": "apiVersion: v1", "green": 1}

    def of(found: object, key: str) -> str:
        requested = StackOutput(stack=STACK, output="kubeconfigs", key=key)
        return exported_text(found, "lab", requested, "a kubeconfig")

    assert of(exported, "blue") == "apiVersion: v1"
    for found, key in ((exported, "green"), (exported, "red"), ("apiVersion: v1", "blue"), (None, "blue")):
        with pytest.raises(pulumi.RunError) as refused:
            of(found, key)
        assert str(refused.value) == (
            f"cluster lab: stack acme/infra/prod exports no text named kubeconfigs with the key {key}; "
            "allowed: the name of an output that holds a kubeconfig; "
            "fix: look with `pulumi stack output --stack acme/infra/prod`"
        )


def no_secret(key: str) -> pulumi.Output[str]:
    raise AssertionError(f"the program asked for the secret {key}")
