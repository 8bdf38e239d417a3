import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_fleet import clouds
from dra_fleet.clouds import Cloud
from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.rehearsal.credentials.install import install_helper_of
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.providers import cloud_plugin
from dra_fleet.rehearsal.simulator.client import SimulatorClient, ensure_running, stop
from dra_fleet.rehearsal.tools import Toolset
from tests.contracts.registering import MADE_UP, installed
from tests.engine_support import RehearsalWorld
from tests.rehearsal.providers.cloud_program import CloudProgram

PROGRAM = """
import json, pathlib, pulumi

given = json.loads(pathlib.Path("given.json").read_text())
meadow = pulumi.ProviderResource("meadow", "meadow", {}, pulumi.ResourceOptions(version="1.0.0"))
own = pulumi.ResourceOptions(provider=meadow)


class Made(pulumi.CustomResource):
    name: pulumi.Output[str]
    server: pulumi.Output[str]
    authority: pulumi.Output[str]


cluster = Made("meadow:index:Cluster", "barn",
    {"name": "barn", "version": "1.36", "server": None, "authority": None}, own)
Made("meadow:index:Pool", "hens",
    {"cluster": cluster.name, "name": "hens", "machine": "coop", "nodes": given["nodes"]}, own)
pulumi.export("server", cluster.server)
pulumi.export("authority", cluster.authority)
"""


@pytest.fixture
def meadow() -> Iterator[Cloud]:
    with installed():
        yield clouds.named("meadow")


@pytest.fixture
def simulator(
    meadow: Cloud, tools: Toolset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RehearsalWorld]:
    """A simulator, which finds by itself what the made-up package registers."""
    monkeypatch.setenv("PYTHONPATH", str(MADE_UP), prepend=":")
    home = Home.at(tmp_path / "home")
    ensure_running(home, tools)
    install_helper_of(home, meadow.name)
    with SimulatorClient(home) as client:
        yield RehearsalWorld(home=home, client=client)
    stop(home, remove=True)


def kubeconfig(folder: Path, outputs: dict[str, str], helper: Path) -> Path:
    login = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(helper)}
    reached = {"server": outputs["server"], "certificate-authority-data": outputs["authority"]}
    content = {
        "clusters": [{"name": "barn", "cluster": reached}],
        "users": [{"name": "barn", "user": {"exec": {**login, "interactiveMode": "Never"}}}],
        "contexts": [{"name": "barn", "context": {"cluster": "barn", "user": "barn"}}],
        "current-context": "barn",
    }
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(content))
    return file


async def nodes_of(file: Path) -> dict[str, Any]:
    async with KubeApi.connect(read_kubeconfig(str(file))) as api:
        found = (await api.list("v1", "Node"))["items"]
    return {item["metadata"]["name"]: item["metadata"]["labels"] for item in found}


@pytest.mark.engine
def test_a_made_up_cloud_lives_scales_and_ends_under_the_real_engine(
    meadow: Cloud, simulator: RehearsalWorld, tools: Toolset, tmp_path: Path
) -> None:
    project = CloudProgram(
        tmp_path / "tiny", tools, simulator, program=PROGRAM, plugin=cloud_plugin(meadow.name)
    )
    project.given(nodes=2)
    project.run("up", "--yes", "--skip-preview")
    outputs = json.loads(project.run("stack", "output", "--json"))
    assert b"BEGIN CERTIFICATE" in base64.b64decode(outputs["authority"])
    file = kubeconfig(tmp_path, outputs, simulator.home.bin / meadow.credential_helper)
    nodes = asyncio.run(nodes_of(file))
    assert sorted(nodes) == ["hens-0", "hens-1"]
    assert nodes["hens-0"]["node.kubernetes.io/instance-type"] == "coop"
    project.given(nodes=1)
    project.run("up", "--yes", "--skip-preview")
    assert list(asyncio.run(nodes_of(file))) == ["hens-0"]
    project.run("destroy", "--yes", "--skip-preview")
    assert simulator.client.status()["clusters"] == []
