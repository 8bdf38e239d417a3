"""The simulated AWS without control planes: what nodes are like, and refusals with their words."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from dra_fleet.clouds.eks.simulation.cloud import GET_GROUP, GET_GROUPS
from dra_fleet.clouds.eks.simulation.network_types import VPC
from dra_fleet.clouds.eks.simulation.small_types import ROLE
from dra_fleet.rehearsal.clouds.cloud import UNKNOWN_TEXT, CloudRefusal, TypeNotCoveredError
from tests.rehearsal.clouds.eks.eks_region import CLUSTER, GROUP, TEMPLATE, cluster_inputs, group_inputs

if TYPE_CHECKING:
    from tests.rehearsal.clouds.eks.eks_region import Region

PLUGIN_OFF = "[settings.kubelet-device-plugins.nvidia]\nenabled = false\n"


def test_nodes_have_the_labels_taints_and_drivers_of_eks(eks: Region) -> None:
    made = eks.cluster()
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    eks.group(labels={"team": "ml"}, taints=[taint])
    assert eks.planes.versions == {"train": "v1.35.2-eks-f69f56f"}
    assert (made["status"], made["version"]) == ("ACTIVE", "1.35")
    (node,) = eks.nodes
    assert node.name.endswith(".ec2.internal")
    assert node.labels["eks.amazonaws.com/nodegroup"] == "gpu"
    assert node.labels["nvidia.com/gpu.present"] == "true"
    assert node.labels["team"] == "ml"
    assert (node.taints[0].key, node.taints[0].effect) == ("nvidia.com/gpu", "NoSchedule")
    assert node.nvidia is not None
    assert (node.nvidia.driver_root, node.nvidia.runtime) == ("/", "nvidia")
    assert node.advertised == {}


@pytest.mark.parametrize(("output", "advertised"), [("", {"nvidia.com/gpu": 8}), (PLUGIN_OFF, {})])
def test_bottlerocket_advertises_gpus_until_it_is_reported_not_to(
    output: str, advertised: dict[str, int], eks: Region
) -> None:
    eks.cluster()
    template = eks.template(userData=base64.b64encode(output.encode()).decode())
    launch = {"id": template["id"], "version": "1"}
    eks.group(amiType="BOTTLEROCKET_x86_64_NVIDIA", instanceTypes=None, launchTemplate=launch)
    assert eks.nodes[0].advertised == advertised
    assert "nvidia.com/gpu.present" not in eks.nodes[0].labels


def test_a_standard_image_has_no_driver(eks: Region) -> None:
    eks.cluster()
    eks.group(amiType="AL2023_x86_64_STANDARD")
    assert eks.nodes[0].nvidia is None


def test_an_enum_is_checked_although_botocore_does_not_check_it(eks: Region) -> None:
    assert "none of" in eks.faults(GROUP, group_inputs(amiType="BOGUS"))["amiType"]
    assert "none of" in eks.faults(GROUP, group_inputs(capacityType="CHEAP"))["capacityType"]


@pytest.mark.parametrize(
    ("kind", "inputs", "path", "output"),
    [
        (GROUP, group_inputs(shape="round"), "shape", "'shape' is not a member of CreateNodegroupRequest"),
        (
            GROUP,
            group_inputs(scalingConfig={"minSize": 0, "desiredSize": 0, "maxSize": 0}),
            "scalingConfig.maxSize",
            "0 must be 1 to",
        ),
        (CLUSTER, cluster_inputs(name="-train"), "name", "'-train' does not match"),
        (CLUSTER, cluster_inputs(version=135), "version", "135 must be a text"),
        (TEMPLATE, {"instanceType": "p5.fast"}, "instanceType", "'p5.fast' is none of"),
    ],
)
def test_inputs_are_checked_against_the_api_s_shapes(
    kind: str, inputs: dict[str, Any], path: str, output: str, eks: Region
) -> None:
    found = eks.faults(kind, inputs)
    assert list(found) == [path]
    assert found[path].startswith(output)


def test_unknown_values_are_no_fault(eks: Region) -> None:
    assert eks.faults(GROUP, group_inputs(nodeRoleArn=UNKNOWN_TEXT, subnetIds=[UNKNOWN_TEXT])) == {}


@pytest.mark.parametrize(
    ("changes", "output"),
    [
        ({"amiType": "AL2023_ARM_64_NVIDIA"}, "is not a valid instance type for requested amiType"),
        (
            {"amiType": "AL2_x86_64_GPU"},
            "amiType AL2_x86_64_GPU is not supported for kubernetes version 1.35",
        ),
        ({"labels": {"eks.amazonaws.com/x": "y"}}, "Label cannot contain reserved prefixes"),
        ({"capacityType": "CAPACITY_BLOCK"}, "needs a launch template with market type capacity-block"),
        ({"clusterName": "other"}, "No cluster found for name: other."),
        ({"version": "1.36"}, "Nodegroup Kubernetes version 1.36 is newer than the cluster's 1.35"),
        (
            {"scalingConfig": {"minSize": 2, "desiredSize": 1, "maxSize": 3}},
            "Minimum capacity 2 cannot be greater than desired 1",
        ),
    ],
)
def test_eks_refuses(changes: dict[str, Any], output: str, eks: Region) -> None:
    eks.cluster()
    with pytest.raises(CloudRefusal) as refused:
        eks.group(**changes)
    assert output in str(refused.value)


def test_quota_and_stock_run_out_in_aws_s_words(eks: Region) -> None:
    eks.cluster()
    eks.limit(quotas={"P": 100})
    with pytest.raises(CloudRefusal, match=r"VcpuLimitExceeded .* current vCPU limit of 100"):
        eks.group()
    eks.limit(stockOuts=["p5.48xlarge"])
    with pytest.raises(CloudRefusal, match=r"InsufficientInstanceCapacity .* sufficient p5"):
        eks.group()


@pytest.mark.parametrize("version", ["1.33", "1.35.2"])
def test_versions_are_minors_that_eks_offers(version: str, eks: Region) -> None:
    with pytest.raises(CloudRefusal, match="unsupported Kubernetes version"):
        eks.cluster(version=version)


def test_changes_that_need_a_replacement_replace(eks: Region) -> None:
    change = eks.cloud.diff(
        eks.resource(GROUP, "gpu"), group_inputs(), group_inputs(capacityType="SPOT", labels={"a": "b"})
    )
    assert change.replacing == ["capacityType"]
    assert set(change.changed) == {"capacityType", "labels"}


def test_all_but_roles_is_made_again_in_another_region(eks: Region) -> None:
    eks.cluster()
    there = replace(eks.resource(CLUSTER, "train", "train"), config={"region": "us-west-2"})
    change = eks.cloud.diff(there, cluster_inputs(), cluster_inputs())
    assert (change.changed, change.replacing, change.beside) == (["region"], ["region"], False)
    network = eks.resource(VPC, "network")
    made = asyncio.run(eks.cloud.create(network, {"cidrBlock": "10.0.0.0/16"}, preview=False))
    moved = replace(network, identifier=made.identifier, config={"region": "us-west-2"})
    change = eks.cloud.diff(moved, made.inputs, made.inputs)
    assert (change.replacing, change.beside) == (["region"], True)
    role = eks.resource(ROLE, "nodes")
    made = asyncio.run(eks.cloud.create(role, {"name": "nodes", "assumeRolePolicy": "{}"}, preview=False))
    stays = replace(role, identifier=made.identifier, config={"region": "us-west-2"})
    assert eks.cloud.diff(stays, made.inputs, made.inputs).changed == []


def test_a_deleted_group_takes_its_nodes_away_and_a_cluster_waits_for_that(eks: Region) -> None:
    eks.cluster()
    made = eks.group()
    there = eks.resource(CLUSTER, "train", "train")
    with pytest.raises(CloudRefusal, match=r"Cluster has nodegroups attached \(gpu\)"):
        asyncio.run(eks.cloud.delete(there))
    asyncio.run(eks.cloud.delete(eks.resource(GROUP, "gpu", made["id"])))
    assert eks.nodes == []
    asyncio.run(eks.cloud.delete(there))
    assert eks.planes.versions == {}


def test_a_type_that_is_not_simulated_is_named(eks: Region) -> None:
    with pytest.raises(
        TypeNotCoveredError, match="the simulated AWS has no resource type aws:s3/bucket:Bucket"
    ):
        eks.cloud.check(eks.resource("aws:s3/bucket:Bucket", "x"), {}, {}, "1a2b3c4d")


def test_a_token_is_for_a_cluster(eks: Region) -> None:
    assert eks.cloud.credential({"clusterName": "train"})["token"].startswith("k8s-aws-v1.")
    with pytest.raises(CloudRefusal, match="--cluster-name"):
        eks.cloud.credential({})


def test_only_groups_that_are_there_are_listed_and_report_how_many_nodes_they_have(eks: Region) -> None:
    eks.cluster()
    cluster = {"clusterName": "train"}
    assert asyncio.run(eks.cloud.invoke(GET_GROUPS, cluster, {}))["names"] == []
    eks.group(scalingConfig={"minSize": 1, "desiredSize": 2, "maxSize": 3})
    assert asyncio.run(eks.cloud.invoke(GET_GROUPS, cluster, {}))["names"] == ["gpu"]
    found = asyncio.run(eks.cloud.invoke(GET_GROUP, {**cluster, "nodeGroupName": "gpu"}, {}))
    assert found["scalingConfigs"] == [{"minSize": 1, "desiredSize": 2, "maxSize": 3}]
    with pytest.raises(CloudRefusal, match="No node group found for name: other"):
        asyncio.run(eks.cloud.invoke(GET_GROUP, {**cluster, "nodeGroupName": "other"}, {}))
