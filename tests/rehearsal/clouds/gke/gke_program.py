"""A tiny program on the simulated Google Cloud: a project with one stack, in a separate directory."""

from pathlib import Path

from dra_fleet.rehearsal.providers import cloud_plugin
from dra_fleet.rehearsal.tools import Toolset
from tests.engine_support import RehearsalWorld
from tests.rehearsal.providers.cloud_program import CloudProgram

PROGRAM = """
import json, pathlib, pulumi
import pulumi_gcp as gcp

given = json.loads(pathlib.Path("given.json").read_text())
to_google = gcp.Provider("google", project="tiny-project", region="us-central1")
own = pulumi.ResourceOptions(provider=to_google)
container = gcp.container
cluster = container.Cluster(
    "render", name="tiny-render", location="us-central1", min_master_version="1.36",
    remove_default_node_pool=True, initial_node_count=1, deletion_protection=False,
    datapath_provider="ADVANCED_DATAPATH",
    release_channel=container.ClusterReleaseChannelArgs(channel="REGULAR"),
    control_plane_endpoints_config=container.ClusterControlPlaneEndpointsConfigArgs(
        dns_endpoint_config=container.ClusterControlPlaneEndpointsConfigDnsEndpointConfigArgs(
            allow_external_traffic=True)),
    opts=own)
disabled = container.NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(
    gpu_driver_version="INSTALLATION_DISABLED")
pool = container.NodePool(
    "gpu", name="gpu", cluster=cluster.name, location="us-central1", node_locations=["us-central1-a"],
    node_count=given["count"],
    node_config=container.NodePoolNodeConfigArgs(
        machine_type=given["machine"], spot=given["spot"],
        guest_accelerators=[container.NodePoolNodeConfigGuestAcceleratorArgs(
            type="nvidia-l4", count=1, gpu_driver_installation_config=disabled)],
        labels={"gke-no-default-nvidia-gpu-device-plugin": "true"}),
    opts=own)
found = container.get_cluster_output(
    name=cluster.name, location="us-central1", project="tiny-project",
    opts=pulumi.InvokeOutputOptions(provider=to_google, depends_on=[cluster]))
pulumi.export("host", found.control_plane_endpoints_configs[0].dns_endpoint_configs[0].endpoint)
pulumi.export("authority", found.master_auths[0].cluster_ca_certificate)
pulumi.export("version", cluster.master_version)
"""


class GkeProgram(CloudProgram):
    """The program above."""

    def __init__(self, directory: Path, tools: Toolset, simulator: RehearsalWorld) -> None:
        super().__init__(directory, tools, simulator, program=PROGRAM, plugin=cloud_plugin("gke"))

    def cluster_token(self) -> str:
        return self.token("gke-gcloud-auth-plugin")
