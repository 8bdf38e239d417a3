"""EKS clusters as the engine sees them: typed inputs, names, order, protection, no secret in clear."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from components.fleet import build
from dra_fleet.fleet import parse, read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.testing import Secret
from tests.clouds.eks.eks_fleets import RESERVATION, cluster, h100, mig, pool, ultra

if TYPE_CHECKING:
    import pulumi

    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.testing import Recorder, Registration
    from tests.golden_files import Golden

PROJECT = Path(__file__).resolve().parents[4]
EXAMPLES = sorted(file.stem for file in (PROJECT / "examples").glob("eks-*.yaml"))
CLUSTER = "aws:eks/cluster:Cluster"
GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
SECURITY = "aws:ec2/securityGroup:SecurityGroup"
SUBNET = "aws:ec2/subnet:Subnet"
ROLE = "aws:iam/role:Role"
GET_CLUSTER = "aws:eks/getCluster:getCluster"
GET_GROUPS = "aws:eks/getNodeGroups:getNodeGroups"
GET_GROUP = "aws:eks/getNodeGroup:getNodeGroup"
COMPONENT = "dra-fleet:clouds:EksCluster"
ANSWERS = {
    "endpoint": "https://train.example.com",
    "certificateAuthority": {"data": "Q0E="},
    "kubernetesNetworkConfig": {"serviceIpv4Cidr": "172.20.0.0/16"},
}
VPC = {"vpcId": "vpc-0a", "clusterSecurityGroupId": "sg-0c"}
GIVEN = {"us-east-1a": "subnet-0000000a", "us-east-1b": "subnet-0000000b"}


@pytest.fixture
def aws(recorder: Recorder) -> Recorder:
    """A recorded engine whose AWS reports what a cluster's address is."""
    recorder.outputs[CLUSTER] = {**ANSWERS, "vpcConfig": VPC}
    recorder.outputs[TEMPLATE] = {"latestVersion": 3}
    recorder.answers[GET_GROUPS] = {"names": []}
    recorder.answers[GET_CLUSTER] = {
        "endpoint": ANSWERS["endpoint"],
        "certificateAuthorities": [ANSWERS["certificateAuthority"]],
        "kubernetesNetworkConfigs": [ANSWERS["kubernetesNetworkConfig"]],
        "vpcConfig": VPC,
    }
    return recorder


def no_secret(key: str) -> pulumi.Output[str]:
    raise AssertionError(f"the program asked for the secret {key}")


def declare(aws: Recorder, plan: FleetPlan) -> None:
    aws.run(lambda: build(plan, no_secret))


def fleet_plan(fleet: dict[str, Any]) -> FleetPlan:
    return make_plan(parse(fleet))


def group(aws: Recorder) -> Registration:
    return aws.only(GROUP, "train-gpu")


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_declared_exactly_as_before(example: str, aws: Recorder, golden: Golden) -> None:
    declare(aws, make_plan(read_stack_file(PROJECT / "examples" / f"{example}.yaml").settings))
    golden(f"{example.replace('-', '_')}.json", aws.declared())


def test_there_are_examples() -> None:
    assert EXAMPLES


def test_the_kubeconfig_is_a_login_and_secret_everywhere(aws: Recorder) -> None:
    declare(aws, fleet_plan(h100()))
    secret = aws.only("pulumi:providers:kubernetes").inputs["kubeconfig"]
    assert isinstance(secret, Secret)
    config = json.loads(secret.value)
    assert config["clusters"][0]["cluster"] == {
        "server": "https://train.example.com",
        "certificate-authority-data": "Q0E=",
    }
    login = config["users"][0]["user"]["exec"]
    assert (login["command"], login["args"]) == (
        "aws",
        ["eks", "get-token", "--cluster-name", "train", "--region", "us-east-1", "--output", "json"],
    )
    assert aws.published[aws.only(COMPONENT).urn]["kubeconfig"] == secret


def test_iam_alone_says_who_may_enter(aws: Recorder) -> None:
    fleet = h100()
    cluster(fleet)["access"] = {
        "publicRanges": ["203.0.113.0/24"],
        "admins": ["arn:aws:iam::123456789012:role/ops"],
    }
    declare(aws, fleet_plan(fleet))
    inputs = aws.only(CLUSTER).inputs
    assert inputs["accessConfig"]["authenticationMode"] == "API"
    assert inputs["vpcConfig"]["publicAccessCidrs"] == ["203.0.113.0/24"]
    assert inputs["upgradePolicy"] == {"supportType": "STANDARD"}
    policy = aws.only("aws:eks/accessPolicyAssociation:AccessPolicyAssociation").inputs
    assert policy["principalArn"] == "arn:aws:iam::123456789012:role/ops"
    assert policy["accessScope"] == {"type": "cluster"}


def test_given_subnets_and_roles_make_no_network_and_no_role(aws: Recorder) -> None:
    fleet = h100()
    arn = "arn:aws:iam::123456789012:role/given"
    cluster(fleet)["create"] = {"subnets": GIVEN, "clusterRole": arn, "nodeRole": arn}
    declare(aws, fleet_plan(fleet))
    types = {entry.type for entry in aws.registrations.values()}
    assert not types & {SUBNET, ROLE, "aws:ec2/vpc:Vpc"}
    assert aws.only(CLUSTER).inputs["vpcConfig"]["subnetIds"] == list(GIVEN.values())
    assert group(aws).inputs["nodeRoleArn"] == arn


def test_an_adopted_cluster_is_not_made_and_gets_its_node_groups(aws: Recorder) -> None:
    fleet = h100()
    del cluster(fleet)["create"], cluster(fleet)["access"]
    cluster(fleet)["adopt"] = {"name": "old", "subnets": GIVEN}
    declare(aws, fleet_plan(fleet))
    assert CLUSTER not in {entry.type for entry in aws.registrations.values()}
    assert group(aws).inputs["clusterName"] == "old"
    provider = aws.only("pulumi:providers:aws")
    identity = f"{provider.urn}::{provider.name}-id"
    assert sorted(aws.calls) == [
        (GET_CLUSTER, {"name": "old"}, identity),
        (GET_GROUPS, {"clusterName": "old"}, identity),
    ]


@pytest.mark.parametrize(
    ("live", "asked"),
    [(None, 3), (2, 3), (3, 3), (5, 5), (8, 6)],
    ids=["absent", "at the old minimum", "at its minimum", "grown", "above a lowered maximum"],
)
def test_an_autoscaled_group_is_asked_for_the_nodes_it_has_within_its_bounds(
    live: int | None, asked: int, aws: Recorder
) -> None:
    fleet = h100()
    pool(fleet)["nodes"] = {"min": 3, "max": 6}
    plan = fleet_plan(fleet)
    declare(aws, plan)
    name = group(aws).inputs["nodeGroupName"]
    aws.registrations.clear()
    if live is not None:
        aws.answers[GET_GROUPS] = {"names": ["another", name]}
        aws.answers[GET_GROUP] = {"scalingConfigs": [{"minSize": 2, "desiredSize": live, "maxSize": 9}]}

    declare(aws, plan)

    assert group(aws).inputs["scalingConfig"] == {"minSize": 3, "desiredSize": asked, "maxSize": 6}


def test_the_groups_of_a_cluster_that_is_not_there_yet_are_not_asked_for(aws: Recorder) -> None:
    aws.preview = True
    declare(aws, fleet_plan(h100()))
    assert aws.calls == []


def test_a_gpu_group_has_the_image_with_the_driver_and_repairs_itself(aws: Recorder) -> None:
    fleet = mig()
    pool(fleet)["taints"] = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    declare(aws, fleet_plan(fleet))
    inputs = group(aws).inputs
    assert inputs["amiType"] == "AL2023_x86_64_NVIDIA"
    assert inputs["labels"]["nvidia.com/mig.config"] == "all-1g.10gb"
    assert inputs["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert inputs["nodeRepairConfig"] == {"enabled": True}
    assert inputs["updateConfig"] == {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}
    assert inputs["launchTemplate"]["version"] == "3"
    assert aws.only(TEMPLATE).inputs["metadataOptions"]["httpTokens"] == "required"


def test_bottlerocket_has_to_turn_its_device_plugin_off(aws: Recorder) -> None:
    fleet = h100()
    pool(fleet)["image"] = "BOTTLEROCKET_x86_64_NVIDIA"
    declare(aws, fleet_plan(fleet))
    output = base64.b64decode(aws.only(TEMPLATE).inputs["userData"]).decode()
    assert output == "[settings.kubelet-device-plugins.nvidia]\nenabled = false\n"


def test_a_custom_image_gets_the_script_that_joins_the_cluster(aws: Recorder) -> None:
    fleet = h100()
    pool(fleet)["image"] = {"id": "ami-0123456789abcdef0", "nvidiaDriver": "580.173.02"}
    declare(aws, fleet_plan(fleet))
    template = aws.only(TEMPLATE).inputs
    output = base64.b64decode(template["userData"]).decode()
    assert template["imageId"] == "ami-0123456789abcdef0"
    assert '"apiServerEndpoint": "https://train.example.com"' in output
    assert "--node-labels=dra-fleet/pool=gpu,nvidia.com/gpu.present=true" in output
    assert group(aws).inputs["amiType"] == "CUSTOM"
    assert "version" not in group(aws).inputs


def test_an_ultra_server_is_a_capacity_block_with_all_its_cards(aws: Recorder) -> None:
    declare(aws, fleet_plan(ultra()))
    template, inputs = aws.only(TEMPLATE).inputs, group(aws).inputs
    assert inputs["amiType"] == "AL2023_ARM_64_NVIDIA"
    assert inputs["capacityType"] == "CAPACITY_BLOCK"
    assert inputs["releaseVersion"] == "1.35.2-20260415"
    assert len(inputs["subnetIds"]) == 1
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    target = template["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target == {"capacityReservationId": RESERVATION}
    cards = template["networkInterfaces"]
    assert [card["networkCardIndex"] for card in cards] == list(range(17))
    assert "interfaceType" not in cards[0]
    assert {card["interfaceType"] for card in cards[1:]} == {"efa-only"}
    assert aws.only(PLACEMENT).inputs["strategy"] == "cluster"
    rule = aws.only(SECURITY).inputs
    assert rule["ingress"] == rule["egress"] == [{"fromPort": 0, "protocol": "-1", "self": True, "toPort": 0}]


@pytest.mark.parametrize(("capacity", "market"), [("ON_DEMAND", None), ("SPOT", None)])
def test_spot_is_asked_for_by_the_group_and_never_by_the_template(
    capacity: str, market: str | None, aws: Recorder
) -> None:
    fleet = h100()
    pool(fleet)["capacity"] = capacity
    declare(aws, fleet_plan(fleet))
    assert group(aws).inputs["capacityType"] == capacity
    assert aws.only(TEMPLATE).inputs.get("instanceMarketOptions") == market


def test_changes_that_need_a_new_group_replace_the_group(aws: Recorder) -> None:
    names: set[str] = set()
    changes: list[dict[str, Any]] = [
        {},
        {"zones": ["us-east-1a"]},
        {"machine": "p4d.24xlarge"},
        {"capacity": "SPOT"},
        {"image": "BOTTLEROCKET_x86_64_NVIDIA"},
    ]
    for change in changes:
        fleet = h100()
        pool(fleet).update(change)
        aws.registrations.clear()
        declare(aws, fleet_plan(fleet))
        names.add(group(aws).inputs["nodeGroupName"])
    assert len(names) == len(changes)


@pytest.mark.parametrize(("environment", "protected"), [("development", False), ("production", True)])
def test_a_production_cluster_is_protected_and_its_groups_may_change(
    environment: str, protected: bool, aws: Recorder
) -> None:
    declare(aws, replace(fleet_plan(h100()), environment=environment))
    assert bool(aws.only(COMPONENT).protect) is protected
    assert bool(aws.only(CLUSTER).protect) is protected
    assert group(aws).protect is False


def test_objects_in_the_cluster_are_deleted_before_its_nodes(aws: Recorder) -> None:
    declare(aws, fleet_plan(h100()))
    provider = aws.only("pulumi:providers:kubernetes")
    assert {group(aws).urn, aws.only(CLUSTER).urn} <= provider.dependencies


def test_nodes_join_after_their_roles_and_routes_are_there(aws: Recorder) -> None:
    declare(aws, fleet_plan(h100()))
    needed = {
        entry.urn
        for entry in aws.registrations.values()
        if entry.type.endswith((":RolePolicyAttachment", ":RouteTableAssociation"))
        and "train-cluster" not in entry.name
    }
    assert needed
    assert needed <= group(aws).dependencies


def test_every_resource_of_aws_names_the_cluster_s_provider(aws: Recorder) -> None:
    declare(aws, fleet_plan(ultra()))
    provider = aws.only("pulumi:providers:aws")
    for entry in aws.registrations.values():
        if entry.type.startswith("aws:"):
            assert entry.provider == f"{provider.urn}::{provider.name}-id"


def with_karpenter() -> dict[str, Any]:
    fleet = h100()
    cluster(fleet)["karpenter"] = "1.15.1"
    pool(fleet).update({"karpenter": True, "nodes": {"min": 0, "max": 2}})
    return fleet


def test_an_adopted_cluster_gets_only_the_pools_of_its_karpenter(aws: Recorder) -> None:
    fleet = with_karpenter()
    for key in ("create", "access"):
        cluster(fleet).pop(key)
    role = "arn:aws:iam::000000000000:role/nodes"
    cluster(fleet)["adopt"] = {"name": "theirs", "subnets": GIVEN, "nodeRole": role}
    declare(aws, fleet_plan(fleet))

    node_class = aws.only("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", "train-gpu").inputs["spec"]
    assert node_class["role"] == "nodes"
    assert node_class["subnetSelectorTerms"] == [{"id": subnet} for subnet in GIVEN.values()]
    assert node_class["securityGroupSelectorTerms"] == [{"id": "sg-0c"}]
    kinds = {one.type for one in aws.registrations.values()}
    assert not kinds & {GROUP, ROLE, "aws:eks/podIdentityAssociation:PodIdentityAssociation"}


def test_extra_of_a_pool_of_karpenter_is_in_its_objects(aws: Recorder) -> None:
    fleet = with_karpenter()
    extra = {"disruption": {"consolidateAfter": "5m"}, "nodeClass": {"detailedMonitoring": True}}
    pool(fleet)["extra"] = extra
    declare(aws, fleet_plan(fleet))

    spec = aws.only("kubernetes:karpenter.sh/v1:NodePool", "train-gpu").inputs["spec"]
    assert spec["disruption"] == {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"}
    assert spec["limits"] == {"nodes": "2", "cpu": "384"}
    assert aws.only("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", "train-gpu").inputs["spec"][
        "detailedMonitoring"
    ]
