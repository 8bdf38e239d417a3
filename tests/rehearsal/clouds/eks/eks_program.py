"""A tiny program on the simulated AWS: a project with one stack, in a separate directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.rehearsal.providers import cloud_plugin
from tests.rehearsal.providers.cloud_program import CloudProgram

if TYPE_CHECKING:
    from pathlib import Path

    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine_support import RehearsalWorld

PROGRAM = """
import json, pathlib, pulumi
import pulumi_aws as aws

given = json.loads(pathlib.Path("given.json").read_text())
to_aws = aws.Provider("aws", region="us-east-1")
own = pulumi.ResourceOptions(provider=to_aws)
vpc = aws.ec2.Vpc("tiny", cidr_block="10.30.0.0/16", opts=own)
subnets = [
    aws.ec2.Subnet(zone, vpc_id=vpc.id, cidr_block=f"10.30.{number}.0/24", availability_zone=zone, opts=own)
    for number, zone in enumerate(["us-east-1a", "us-east-1b"])
]
trust = {"Version": "2012-10-17", "Statement": []}
role = aws.iam.Role("tiny", assume_role_policy=json.dumps(trust), opts=own)
cluster = aws.eks.Cluster(
    "train", name="tiny-train", role_arn=role.arn, version="1.36",
    vpc_config=aws.eks.ClusterVpcConfigArgs(subnet_ids=[subnet.id for subnet in subnets]),
    access_config=aws.eks.ClusterAccessConfigArgs(authentication_mode="API"), opts=own)
template = aws.ec2.LaunchTemplate("gpu", instance_type=given["machine"], opts=own)
group = aws.eks.NodeGroup(
    "gpu", cluster_name=cluster.name, node_group_name=f"gpu-{given['machine'].replace('.', '-')}",
    node_role_arn=role.arn, subnet_ids=[subnets[0].id],
    ami_type=given["image"], labels={"example.com/pool": "gpu"},
    scaling_config=aws.eks.NodeGroupScalingConfigArgs(
        min_size=given["count"], desired_size=given["count"], max_size=3),
    taints=[aws.eks.NodeGroupTaintArgs(key="nvidia.com/gpu", value="present", effect="NO_SCHEDULE")],
    launch_template=aws.eks.NodeGroupLaunchTemplateArgs(
        id=template.id, version=template.latest_version.apply(str)),
    opts=own)
found = aws.eks.get_cluster_output(
    name=cluster.name, opts=pulumi.InvokeOutputOptions(provider=to_aws, depends_on=[cluster]))
pulumi.export("endpoint", found.endpoint)
pulumi.export("authority", found.certificate_authorities[0].data)
"""


class EksProgram(CloudProgram):
    """The program above."""

    def __init__(self, directory: Path, tools: Toolset, simulator: RehearsalWorld) -> None:
        super().__init__(directory, tools, simulator, program=PROGRAM, plugin=cloud_plugin("eks"))

    def cluster_token(self) -> str:
        return self.token("aws", "eks", "get-token", "--cluster-name", "tiny-train", "--region", "us-east-1")
