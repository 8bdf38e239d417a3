"""The simulated AWS as Karpenter's SDK calls it, by signed requests and replies of botocore's models."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from dra_fleet.clouds.eks.simulation.instances import CLUSTER_TAG, image_id

if TYPE_CHECKING:
    from dra_fleet.rehearsal.clouds.cloud import ApiReply
    from tests.rehearsal.clouds.eks.eks_region import Region

USER_DATA = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: train}
  kubelet:
    config: {registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}]}
    flags: ['--node-labels="karpenter.sh/nodepool=gpu,team=ml"']

--//--
"""
TEMPLATE = {
    "LaunchTemplateName": "karpenter",
    "LaunchTemplateData.ImageId": image_id("AL2023_x86_64_NVIDIA"),
    "LaunchTemplateData.UserData": base64.b64encode(USER_DATA.encode()).decode(),
}


def ask(eks: Region, service: str, action: str, **parameters: Any) -> tuple[int, str]:
    scope = (
        f"AWS4-HMAC-SHA256 Credential=rehearsal/20261128/us-east-1/{service}/aws4_request, SignedHeaders=host"
    )
    body = urlencode({"Action": action, **parameters}).encode()
    headers = {"Authorization": scope}

    async def answered() -> ApiReply:
        reply = await eks.cloud.answer_api("/", headers, body)
        await asyncio.sleep(0.05)  # instances join after the reply
        return reply

    reply = asyncio.run(answered())
    return reply.status, reply.body.decode()


def fleet(count: int = 1) -> dict[str, Any]:
    config = "LaunchTemplateConfigs.1"
    return {
        f"{config}.LaunchTemplateSpecification.LaunchTemplateName": "karpenter",
        f"{config}.Overrides.1.InstanceType": "g5.xlarge",
        f"{config}.Overrides.1.SubnetId": "subnet-1",
        "TargetCapacitySpecification.TotalTargetCapacity": count,
        "TagSpecification.1.ResourceType": "instance",
        "TagSpecification.1.Tag.1.Key": CLUSTER_TAG,
        "TagSpecification.1.Tag.1.Value": "train",
    }


def test_an_instance_joins_with_the_labels_and_taints_of_its_user_data(eks: Region) -> None:
    eks.cluster()
    ask(eks, "ec2", "CreateLaunchTemplate", **TEMPLATE)
    ask(eks, "ec2", "CreateFleet", **fleet())

    (node,) = eks.nodes
    assert node.labels["karpenter.sh/nodepool"] == "gpu"
    assert node.labels["nvidia.com/gpu.present"] == "true"
    assert [(taint.key, taint.effect) for taint in node.taints] == [
        ("karpenter.sh/unregistered", "NoExecute")
    ]
    identifier = (node.provider_id or "").rpartition("/")[2]

    ask(eks, "ec2", "TerminateInstances", **{"InstanceId.1": identifier})
    assert not eks.nodes


def test_equal_requests_in_one_get_an_instance_each(eks: Region) -> None:
    eks.cluster()
    ask(eks, "ec2", "CreateLaunchTemplate", **TEMPLATE)
    status, made = ask(eks, "ec2", "CreateFleet", **fleet(2))
    _, found = ask(
        eks,
        "ec2",
        "DescribeInstances",
        **{"Filter.1.Name": f"tag:{CLUSTER_TAG}", "Filter.1.Value.1": "train"},
    )

    assert (status, made.count("<instanceIds><item>i-0")) == (200, 2)
    assert found.count("<instanceId>i-0") == 2


def test_an_instance_was_launched_now_because_karpenter_deletes_older_ones_that_it_does_not_know(
    eks: Region,
) -> None:
    eks.cluster()
    ask(eks, "ec2", "CreateLaunchTemplate", **TEMPLATE)
    before = dt.datetime.now(tz=dt.UTC).replace(microsecond=0)
    ask(eks, "ec2", "CreateFleet", **fleet())
    _, found = ask(eks, "ec2", "DescribeInstances")

    (launched,) = re.findall("<launchTime>(.*)</launchTime>", found)
    assert before <= dt.datetime.fromisoformat(launched) <= dt.datetime.now(tz=dt.UTC)


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"quotas": {"G and VT": 3}}, "VcpuLimitExceeded"),
        ({"stockOuts": ["g5.xlarge"]}, "InsufficientInstanceCapacity"),
    ],
)
def test_a_fleet_names_the_refusal_of_each_choice(eks: Region, limits: dict[str, Any], code: str) -> None:
    eks.cluster()
    eks.cloud.configure({"limits": limits})
    ask(eks, "ec2", "CreateLaunchTemplate", **TEMPLATE)
    status, made = ask(eks, "ec2", "CreateFleet", **fleet())

    assert status == 200
    assert f"<errorCode>{code}</errorCode>" in made
    assert "<instanceIds>" not in made


@pytest.mark.parametrize(
    ("action", "parameters", "refusal"),
    [
        ("ec2 CreateFleet", {"DryRun": "true"}, (412, "DryRunOperation")),
        ("ec2 TerminateInstances", {"InstanceId.1": "i-1"}, (400, "InvalidInstanceID.NotFound")),
        ("ec2 DescribeVpcs", {}, (400, "InvalidAction")),
        ("iam GetInstanceProfile", {"InstanceProfileName": "none"}, (404, "NoSuchEntity")),
    ],
)
def test_refusals_have_the_codes_that_karpenter_reads(
    eks: Region, action: str, parameters: dict[str, str], refusal: tuple[int, str]
) -> None:
    service, name = action.split()
    status, text = ask(eks, service, name, **parameters)
    assert status == refusal[0]
    assert f"<Code>{refusal[1]}</Code>" in text


def test_other_services_are_refused_by_name(eks: Region) -> None:
    status, text = ask(eks, "pricing", "GetProducts")
    assert status == 400
    assert json.loads(text)["message"] == "(rehearsal) pricing is not simulated"
