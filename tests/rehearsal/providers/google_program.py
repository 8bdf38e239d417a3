"""A tiny program on the simulated Google Cloud: a project with one stack, in a directory of its own."""

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


class GoogleProgram:
    """The program, run by the real engine with the stand-in plugin."""

    def __init__(self, directory: Path, tools: Toolset, world: RehearsalWorld) -> None:
        self.directory = directory
        self._tools = tools
        self._world = world
        (directory / "backend").mkdir(parents=True)
        (directory / "Pulumi.yaml").write_text("name: tiny\nruntime: python\n")
        (directory / "__main__.py").write_text(PROGRAM)
        install(directory / "pulumi", Path(sys.executable), CLOUD_PLUGINS["gke"])
        self.run("stack", "init", "dev")

    def given(self, **values: Any) -> None:
        """What the program makes its pool of."""
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
        """What `gke-gcloud-auth-plugin` hands out to whoever asks."""
        done = subprocess.run(
            ["gke-gcloud-auth-plugin"], env=self.environment, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)["status"]["token"]
