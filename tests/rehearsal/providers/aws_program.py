"""A tiny program on the simulated AWS: a project with one stack, in a directory of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rehearsal.providers import CLOUD_PLUGINS, install

if TYPE_CHECKING:
    from rehearsal.tools import Toolset
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
        min_size=1, desired_size=given["count"], max_size=3),
    taints=[aws.eks.NodeGroupTaintArgs(key="nvidia.com/gpu", value="present", effect="NO_SCHEDULE")],
    launch_template=aws.eks.NodeGroupLaunchTemplateArgs(
        id=template.id, version=template.latest_version.apply(str)),
    opts=own)
found = aws.eks.get_cluster_output(
    name=cluster.name, opts=pulumi.InvokeOutputOptions(provider=to_aws, depends_on=[cluster]))
pulumi.export("endpoint", found.endpoint)
pulumi.export("authority", found.certificate_authorities[0].data)
"""


class AwsProgram:
    """The program, run by the real engine with the stand-in plugin."""

    def __init__(self, directory: Path, tools: Toolset, world: RehearsalWorld) -> None:
        self.directory = directory
        self._tools = tools
        self._world = world
        (directory / "backend").mkdir(parents=True)
        (directory / "Pulumi.yaml").write_text("name: tiny\nruntime: python\n")
        (directory / "__main__.py").write_text(PROGRAM)
        install(directory / "pulumi", Path(sys.executable), CLOUD_PLUGINS["eks"])
        self.run("stack", "init", "dev")

    def given(self, **values: Any) -> None:
        """What the program makes its node group of."""
        (self.directory / "given.json").write_text(json.dumps(values))

    def run(self, *arguments: str) -> str:
        """Run the engine; it must succeed."""
        done = self.try_to(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def try_to(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the engine, whatever comes of it."""
        return subprocess.run(
            [str(self._tools.pulumi), *arguments, "--non-interactive", "--color", "never"],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    @property
    def environment(self) -> dict[str, str]:
        """The engine's own home and backend, the rehearsal's credential helpers."""
        first = [self._world.home.bin, Path(sys.executable).parent, self._tools.language_host_dir]
        return {
            **os.environ,
            "PATH": os.pathsep.join([*map(str, first), os.environ["PATH"]]),
            "DRA_FLEET_HOME": str(self._world.home.root),
            "PULUMI_HOME": str(self.directory / "pulumi"),
            "PULUMI_BACKEND_URL": f"file://{self.directory / 'backend'}",
            "PULUMI_CONFIG_PASSPHRASE": "tiny",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        }

    @property
    def state_text(self) -> str:
        """The stack's state as it lies on disk."""
        return (self.directory / "backend/.pulumi/stacks/tiny/dev.json").read_text()

    def token(self) -> str:
        """What `aws eks get-token` hands out to whoever asks."""
        command = ["aws", "eks", "get-token", "--cluster-name", "tiny-train", "--region", "us-east-1"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["status"]["token"]
