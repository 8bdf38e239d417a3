"""The simulated aws plugin under the real engine: a cluster, a refused group, no secret."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from components.clouds.eks.cluster import login_kubeconfig
from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from tests.rehearsal.clouds.eks.eks_program import EksProgram

if TYPE_CHECKING:
    from pathlib import Path

    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine_support import RehearsalWorld

pytestmark = pytest.mark.engine

L4 = {"machine": "g6.xlarge", "image": "AL2023_x86_64_NVIDIA", "count": 2}


async def seen_by(kubeconfig: Path) -> dict[str, Any]:
    async with KubeApi.connect(read_kubeconfig(str(kubeconfig))) as api:
        nodes = (await api.list("v1", "Node"))["items"]
        version = await api.request("GET", "/version")
    return {"version": version["gitVersion"], "nodes": {item["metadata"]["name"]: item for item in nodes}}


@pytest.mark.full
def test_a_cluster_with_a_gpu_group_lives_scales_and_ends(
    tmp_path: Path, tools: Toolset, rehearsal_simulator: RehearsalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = EksProgram(tmp_path / "tiny", tools, rehearsal_simulator)
    project.given(**L4)
    project.run("up", "--yes", "--skip-preview")

    outputs = json.loads(project.run("stack", "output", "--json"))
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        login_kubeconfig("train", "tiny-train", "us-east-1", outputs["endpoint"], outputs["authority"])
    )
    monkeypatch.setenv("PATH", f"{rehearsal_simulator.home.bin}{os.pathsep}{os.environ['PATH']}")
    seen = asyncio.run(seen_by(kubeconfig))
    assert seen["version"].startswith("v1.36.")
    assert "-eks-" in seen["version"]
    assert len(seen["nodes"]) == 2
    for name, node in seen["nodes"].items():
        assert name.endswith(".ec2.internal")
        labels = node["metadata"]["labels"]
        assert labels["node.kubernetes.io/instance-type"] == "g6.xlarge"
        assert labels["nvidia.com/gpu.present"] == "true"
        assert node["spec"]["taints"] == [
            {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
        ]
    assert project.cluster_token() not in project.state_text
    assert "PRIVATE KEY" not in project.state_text

    project.run("preview", "--expect-no-changes")
    project.given(**{**L4, "machine": "g6.2xlarge"})
    preview = project.run("preview", "--diff")
    assert "instanceType" in preview
    assert "1 to replace" in " ".join(preview.split())

    project.given(**{**L4, "count": 1})
    project.run("up", "--yes", "--skip-preview")
    assert len(asyncio.run(seen_by(kubeconfig))["nodes"]) == 1

    project.run("destroy", "--yes", "--skip-preview")
    assert "tiny-train" not in {item["name"] for item in rehearsal_simulator.client.status()["clusters"]}


def test_refusals_of_aws_keep_their_message_and_the_next_try_continues(
    tmp_path: Path, tools: Toolset, rehearsal_simulator: RehearsalWorld
) -> None:
    project = EksProgram(tmp_path / "tiny", tools, rehearsal_simulator)
    project.given(**{**L4, "image": "AL2023_ARM_64_NVIDIA"})
    refused = project.try_to("up", "--yes", "--skip-preview")
    assert refused.returncode != 0
    assert (
        "api error InvalidParameterException: [g6.xlarge] is not a valid instance type for requested amiType"
        in refused.stdout + refused.stderr
    )

    project.given(**L4)
    project.run("up", "--yes", "--skip-preview")
    project.run("destroy", "--yes", "--skip-preview")
