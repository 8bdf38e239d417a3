import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.rehearsal.tools import Toolset
from tests.engine_support import RehearsalWorld
from tests.rehearsal.clouds.ack.ack_program import AckProgram

pytestmark = pytest.mark.engine

A10 = {"machine": "ecs.gn7i-c8g1.2xlarge", "count": 2}


async def seen_by(kubeconfig: str) -> dict[str, Any]:
    async with KubeApi.connect(read_kubeconfig(kubeconfig)) as api:
        nodes = (await api.list("v1", "Node"))["items"]
        version = await api.request("GET", "/version")
    return {"version": version["gitVersion"], "nodes": nodes}


def login(outputs: dict[str, str]) -> str:
    """A kubeconfig such as Alibaba Cloud's tool writes."""
    arguments = ["credential-plugin", "get-token", "--cluster-id", outputs["id"]]
    version = "client.authentication.k8s.io/v1beta1"
    plugin = {"apiVersion": version, "command": "ack-ram-tool", "args": arguments, "interactiveMode": "Never"}
    cluster = {"server": outputs["endpoint"], "certificate-authority-data": outputs["authority"]}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "asia",
            "clusters": [{"name": "asia", "cluster": cluster}],
            "users": [{"name": "asia", "user": {"exec": plugin}}],
            "contexts": [{"name": "asia", "context": {"cluster": "asia", "user": "asia"}}],
        }
    )


@pytest.mark.full
def test_a_cluster_with_a_gpu_pool_lives_scales_and_ends(
    tmp_path: Path, tools: Toolset, rehearsal_simulator: RehearsalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = AckProgram(tmp_path / "tiny", tools, rehearsal_simulator)
    project.given(**A10)
    project.run("up", "--yes", "--skip-preview")

    outputs = json.loads(project.run("stack", "output", "--json", "--show-secrets"))
    monkeypatch.setenv("PATH", f"{rehearsal_simulator.home.bin}{os.pathsep}{os.environ['PATH']}")
    seen = asyncio.run(seen_by(login(outputs)))
    assert seen["version"] == "v1.36.2-aliyun.1"
    zones = {node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in seen["nodes"]}
    assert zones == {"ap-southeast-1a", "ap-southeast-1b"}
    for node in seen["nodes"]:
        assert node["metadata"]["labels"]["ack.node.gpu.schedule"] == "disabled"
        assert "nvidia.com/gpu" not in node["status"]["allocatable"]
    assert project.cluster_token() not in project.state_text
    assert "PRIVATE KEY" not in project.state_text
    assert "client-key-data" not in project.state_text

    project.run("preview", "--expect-no-changes")
    project.given(**A10, nonRoot=True)
    preview = project.run("preview", "--diff")
    assert "1 to replace" in " ".join(preview.split())

    project.given(**{**A10, "count": 1})
    project.run("up", "--yes", "--skip-preview")
    assert len(asyncio.run(seen_by(login(outputs)))["nodes"]) == 1

    project.run("destroy", "--yes", "--skip-preview")
    assert "tiny-asia" not in {item["name"] for item in rehearsal_simulator.client.status()["clusters"]}


def test_refusals_of_alibaba_cloud_keep_their_message_and_the_next_try_continues(
    tmp_path: Path, tools: Toolset, rehearsal_simulator: RehearsalWorld
) -> None:
    project = AckProgram(tmp_path / "tiny", tools, rehearsal_simulator)
    project.given(**{**A10, "machine": "ecs.gn7i-c9g1.2xlarge"})
    refused = project.try_to("up", "--yes", "--skip-preview")
    assert refused.returncode != 0
    assert "Code: InvalidResourceType.NotSupported Message: This resource type is not supported" in (
        refused.stdout + refused.stderr
    )

    project.given(**A10)
    project.run("up", "--yes", "--skip-preview")
    project.run("destroy", "--yes", "--skip-preview")
