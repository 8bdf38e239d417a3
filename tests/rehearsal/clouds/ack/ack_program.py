"""A tiny program on the simulated Alibaba Cloud: a project with one stack, in a separate directory."""

from pathlib import Path

from dra_fleet.rehearsal.providers import cloud_plugin
from dra_fleet.rehearsal.tools import Toolset
from tests.engine_support import RehearsalWorld
from tests.rehearsal.providers.cloud_program import CloudProgram

PROGRAM = """
import json, pathlib, pulumi
import pulumi_alicloud as ali

given = json.loads(pathlib.Path("given.json").read_text())
to_ali = ali.Provider("ali", region="ap-southeast-1")
own = pulumi.ResourceOptions(provider=to_ali)
vpc = ali.vpc.Network("tiny", vpc_name="tiny", cidr_block="10.40.0.0/16", opts=own)
vswitches = [
    ali.vpc.Switch(zone, vpc_id=vpc.id, cidr_block=f"10.40.{number}.0/24", zone_id=zone, opts=own)
    for number, zone in enumerate(["ap-southeast-1a", "ap-southeast-1b"])
]
ids = [vswitch.id for vswitch in vswitches]
cluster = ali.cs.ManagedKubernetes(
    "train", name="tiny-asia", version="1.36.2-aliyun.1", cluster_spec="ack.pro.small", vswitch_ids=ids,
    pod_vswitch_ids=ids, service_cidr="172.16.0.0/16", skip_set_certificate_authority=True,
    addons=[ali.cs.ManagedKubernetesAddonArgs(name="terway-eniip")], opts=own)
pool = ali.cs.NodePool(
    "gpu", cluster_id=cluster.id, node_pool_name="gpu", instance_types=[given["machine"]], vswitch_ids=ids,
    desired_size=str(given["count"]), multi_az_policy="BALANCE", force_delete=True,
    login_as_non_root=given.get("nonRoot", False),
    labels=[ali.cs.NodePoolLabelArgs(key="ack.node.gpu.schedule", value="disabled")],
    taints=[ali.cs.NodePoolTaintArgs(key="nvidia.com/gpu", value="present", effect="NoSchedule")],
    opts=own)
login = ali.cs.get_cluster_credential_output(
    cluster_id=cluster.id, opts=pulumi.InvokeOutputOptions(provider=to_ali, depends_on=[cluster]))
pulumi.export("id", cluster.id)
pulumi.export("endpoint", cluster.connections[0].api_server_internet)
pulumi.export("authority", login.certificate_authorities[0].cluster_cert)
"""


class AckProgram(CloudProgram):
    """The program above."""

    def __init__(self, directory: Path, tools: Toolset, simulator: RehearsalWorld) -> None:
        super().__init__(directory, tools, simulator, program=PROGRAM, plugin=cloud_plugin("ack"))

    def cluster_token(self) -> str:
        return self.token("ack-ram-tool", "credential-plugin", "get-token", "--cluster-id", "c1")
