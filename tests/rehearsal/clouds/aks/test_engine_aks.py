import asyncio
import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.rehearsal.providers import cloud_plugin
from dra_fleet.rehearsal.tools import Toolset
from tests.engine_support import RehearsalWorld
from tests.rehearsal.providers.cloud_program import CloudProgram

pytestmark = pytest.mark.engine

PROGRAM = """
import json, pathlib, pulumi
import pulumi_azure_native as azure

given = json.loads(pathlib.Path("given.json").read_text())
to_azure = azure.Provider("azure", location="westeurope")
own = pulumi.ResourceOptions(provider=to_azure)
group = azure.resources.ResourceGroup("studio", opts=own)
cs = azure.containerservice
cluster = cs.ManagedCluster(
    "studio", resource_group_name=group.name, resource_name_="tiny-studio", dns_prefix="studio",
    kubernetes_version="1.36", disable_local_accounts=True,
    identity=cs.ManagedClusterIdentityArgs(type=cs.ResourceIdentityType.SYSTEM_ASSIGNED),
    aad_profile=cs.ManagedClusterAADProfileArgs(managed=True, enable_azure_rbac=True),
    agent_pool_profiles=[cs.ManagedClusterAgentPoolProfileArgs(
        name="system", mode="System", count=1, vm_size="Standard_D4ds_v5", os_type="Linux",
        node_taints=["CriticalAddonsOnly=true:NoSchedule"])],
    opts=own)
pool = cs.AgentPool(
    "gpu", resource_group_name=group.name, resource_name_=cluster.name, agent_pool_name="gpu", mode="User",
    vm_size=given["size"], os_type="Linux", count=given["count"],
    node_labels={"nvidia.com/gpu.present": "true"}, node_taints=["nvidia.com/gpu=present:NoSchedule"],
    opts=own)
credentials = cs.list_managed_cluster_user_credentials_output(
    format="exec", resource_group_name=group.name, resource_name=cluster.name,
    opts=pulumi.InvokeOutputOptions(provider=to_azure, depends_on=[pool]))
pulumi.export("kubeconfig", credentials.kubeconfigs[0].value)
pulumi.export("version", cluster.current_kubernetes_version)
"""


async def nodes_of(kubeconfig: Path) -> dict[str, Any]:
    async with KubeApi.connect(read_kubeconfig(str(kubeconfig))) as api:
        found = (await api.list("v1", "Node"))["items"]
        version = await api.request("GET", "/version")
    return {"version": version["gitVersion"], "nodes": {item["metadata"]["name"]: item for item in found}}


def is_ready(node: dict[str, Any]) -> bool:
    return any(item["type"] == "Ready" and item["status"] == "True" for item in node["status"]["conditions"])


def test_a_cluster_with_a_gpu_pool_lives_scales_and_ends(
    tmp_path: Path, tools: Toolset, rehearsal_simulator: RehearsalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = CloudProgram(
        tmp_path / "tiny", tools, rehearsal_simulator, program=PROGRAM, plugin=cloud_plugin("aks")
    )
    project.given(size="Standard_NC24ads_A100_v4", count=2)
    project.run("up", "--yes", "--skip-preview")

    outputs = json.loads(project.run("stack", "output", "--json", "--show-secrets"))
    assert outputs["version"] == "1.36.2"
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_bytes(base64.b64decode(outputs["kubeconfig"]))
    assert "kubelogin" in kubeconfig.read_text()
    assert outputs["kubeconfig"] not in project.state_text
    monkeypatch.setenv("PATH", f"{rehearsal_simulator.home.bin}{os.pathsep}{os.environ['PATH']}")
    seen = asyncio.run(nodes_of(kubeconfig))
    assert seen["version"] == "v1.36.2"
    gpu = {name: node for name, node in seen["nodes"].items() if name.startswith("aks-gpu-")}
    assert [name[-10:] for name in sorted(gpu)] == ["vmss000000", "vmss000001"]
    assert len(seen["nodes"]) == 3
    assert all(is_ready(node) for node in seen["nodes"].values())
    labels = next(iter(gpu.values()))["metadata"]["labels"]
    assert labels["accelerator"] == "nvidia"
    assert labels["node.kubernetes.io/instance-type"] == "Standard_NC24ads_A100_v4"

    project.run("preview", "--expect-no-changes")
    project.given(size="Standard_NC48ads_A100_v4", count=2)
    preview = project.run("preview", "--diff")
    assert "vmSize" in preview
    assert "1 to replace" in " ".join(preview.split())

    project.given(size="Standard_NC24ads_A100_v4", count=1)
    project.run("up", "--yes", "--skip-preview")
    assert len(asyncio.run(nodes_of(kubeconfig))["nodes"]) == 2

    project.run("destroy", "--yes", "--skip-preview")
    assert "tiny-studio" not in {item["name"] for item in rehearsal_simulator.client.status()["clusters"]}
