import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from components.clouds.gke.cluster import login_kubeconfig
from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.rehearsal.tools import Toolset
from tests.engine_support import RehearsalWorld
from tests.rehearsal.clouds.gke.gke_program import GkeProgram

pytestmark = pytest.mark.engine

L4 = {"machine": "g2-standard-8", "count": 2, "spot": False}


async def seen_by(kubeconfig: Path) -> dict[str, Any]:
    async with KubeApi.connect(read_kubeconfig(str(kubeconfig))) as api:
        nodes = (await api.list("v1", "Node"))["items"]
        definitions = (await api.list("apiextensions.k8s.io/v1", "CustomResourceDefinition"))["items"]
        version = await api.request("GET", "/version")
    return {
        "version": version["gitVersion"],
        "nodes": {item["metadata"]["name"]: item for item in nodes},
        "definitions": {item["metadata"]["name"] for item in definitions},
    }


@pytest.mark.full
def test_a_cluster_with_a_gpu_pool_lives_scales_and_ends(
    tmp_path: Path, tools: Toolset, rehearsal_simulator: RehearsalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = GkeProgram(tmp_path / "tiny", tools, rehearsal_simulator)
    project.given(**L4)
    project.run("up", "--yes", "--skip-preview")

    outputs = json.loads(project.run("stack", "output", "--json"))
    assert outputs["version"] == "1.36.3-gke.1089000"
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(login_kubeconfig("render", outputs["host"], outputs["authority"]))
    monkeypatch.setenv("PATH", f"{rehearsal_simulator.home.bin}{os.pathsep}{os.environ['PATH']}")
    seen = asyncio.run(seen_by(kubeconfig))
    assert seen["version"] == "v1.36.3-gke.1089000"
    assert "computeclasses.cloud.google.com" in seen["definitions"]
    assert len(seen["nodes"]) == 2
    for name, node in seen["nodes"].items():
        assert name.startswith("gke-tiny-render-gpu-")
        assert node["metadata"]["labels"]["cloud.google.com/gke-accelerator"] == "nvidia-l4"
        assert node["spec"]["taints"] == [
            {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
        ]
    assert project.cluster_token() not in project.state_text
    assert "PRIVATE KEY" not in project.state_text

    project.run("preview", "--expect-no-changes")
    project.given(**{**L4, "spot": True})
    preview = project.run("preview", "--diff")
    assert "spot" in preview
    assert "1 to replace" in " ".join(preview.split())

    project.given(**{**L4, "count": 1})
    project.run("up", "--yes", "--skip-preview")
    assert len(asyncio.run(seen_by(kubeconfig))["nodes"]) == 1

    project.run("destroy", "--yes", "--skip-preview")
    assert "tiny-render" not in {item["name"] for item in rehearsal_simulator.client.status()["clusters"]}


def test_refusals_of_google_keep_their_message_and_the_next_try_continues(
    tmp_path: Path, tools: Toolset, rehearsal_simulator: RehearsalWorld
) -> None:
    project = GkeProgram(tmp_path / "tiny", tools, rehearsal_simulator)
    project.given(**{**L4, "machine": "g2-standard-24"})
    refused = project.try_to("up", "--yes", "--skip-preview")
    assert refused.returncode != 0
    assert (
        "googleapi: Error 400: Machine type g2-standard-24 cannot have 1 x nvidia-l4; allowed: "
        "2 x nvidia-l4, INVALID_ARGUMENT" in refused.stdout + refused.stderr
    )

    project.given(**L4)
    project.run("up", "--yes", "--skip-preview")
    project.run("destroy", "--yes", "--skip-preview")
