"""A pool's minimum is raised after the autoscaler has moved it: what AKS and EKS are then asked for."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import TYPE_CHECKING, Any, Final

import httpx2
import pytest
from ruamel.yaml import YAML

from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.simulator.autoscaler import KEPT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine

NAME: Final = "scaled"
POOLS: Final = {
    "desk": "azure-native:containerservice:ManagedCluster",
    "desk-gpu": "azure-native:containerservice:AgentPool",
    "train-system": "aws:eks/nodeGroup:NodeGroup",
    "train-gpu": "aws:eks/nodeGroup:NodeGroup",
}
"""Type of the resource that has a pool's number of nodes, by logical name.

An AKS cluster has its system pool's.
"""


def stack_file(files: Path, least: int) -> Path:
    """A stack of a cluster on AKS and one on EKS, all of their pools of `least` to 8 nodes."""
    nodes = {"min": least, "max": 8}
    fixed = {"drivers": {"nvidia": {"version": "0.5.0"}}, "systemPool": {"nodes": nodes}}
    desk = {
        "cloud": "aks",
        "region": "westeurope",
        "create": {"resourceGroup": "desk"},
        "access": {"private": True},
        "pools": {"gpu": {"machine": "Standard_NV6ads_A10_v5", "nodes": nodes}},
    }
    train = {
        "cloud": "eks",
        "region": "us-east-1",
        "create": {"network": {"zones": ["us-east-1a", "us-east-1b"]}},
        "access": {"publicRanges": ["203.0.113.0/24"]},
        "pools": {"gpu": {"machine": "g6.xlarge", "nodes": nodes}},
    }
    fleet = {
        "owner": "ml-platform",
        "environment": "development",
        "kubernetes": "1.36",
        "clusters": {"desk": {**desk, **fixed}, "train": {**train, **fixed}},
    }
    config = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": fleet}
    yaml = YAML(typ="safe", pure=True)
    file = files / f"{NAME}.yaml"
    yaml.dump({"config": config}, file)  # pyright: ignore[reportUnknownMemberType]
    (files / "hardware").mkdir(exist_ok=True)
    yaml.dump({"clusters": {}}, files / "hardware" / f"{NAME}.yaml")  # pyright: ignore[reportUnknownMemberType]
    return file


def declared(rehearsed: Rehearsed, name: str) -> dict[str, Any]:
    """Return the resource of a pool in the state."""
    resources = json.loads(rehearsed.state(NAME))["checkpoint"]["latest"]["resources"]
    [found] = [
        item for item in resources if item["type"] == POOLS[name] and item["urn"].endswith(f"::{name}")
    ]
    return found


def sized(inputs: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The part of a pool's inputs that holds its number of nodes, and the number's key."""
    if "scalingConfig" in inputs:
        return inputs["scalingConfig"], "desiredSize"
    return (inputs["agentPoolProfiles"][0] if "agentPoolProfiles" in inputs else inputs), "count"


def asked_for(inputs: dict[str, Any]) -> int:
    """Return the number of nodes in inputs."""
    part, key = sized(inputs)
    return part[key]


def grow(rehearsed: Rehearsed, name: str, nodes: int) -> None:
    """Move a pool as an autoscaler does: the cloud knows, and the state does not."""
    pool, cloud = declared(rehearsed, name), "aks" if POOLS[name].startswith("azure") else "eks"
    inputs = copy.deepcopy({key: value for key, value in pool["inputs"].items() if key != "__defaults"})
    part, key = sized(inputs)
    part[key] = nodes
    subscription = {"subscriptionId": pool["id"].split("/")[2]} if cloud == "aks" else {"region": "us-east-1"}
    about = {"type": POOLS[name], "urn": pool["urn"], "id": pool["id"], "config": subscription}
    transport = httpx2.HTTPTransport(uds=str(Home.at(rehearsed.home).socket))
    with httpx2.Client(
        transport=transport, base_url="http://simulator", timeout=600, trust_env=False
    ) as simulator:
        body = {**about, "olds": pool["inputs"], "news": inputs, "preview": False}
        simulator.post(f"/v1/clouds/{cloud}/update", json=body).raise_for_status()


async def keep_nodes(rehearsed: Rehearsed, cluster: str) -> None:
    """Let the simulated autoscaler remove no node of a cluster."""
    async with connect(Home.at(rehearsed.home), cluster) as api:
        for node in (await api.list("v1", "Node"))["items"]:
            patch = {"metadata": {"annotations": {KEPT: "true"}}}
            await api.merge("v1", "Node", node["metadata"]["name"], patch)


def previewed(rehearsed: Rehearsed, file: Path) -> dict[str, Any]:
    """Return the changing steps of a preview of a stack file, by logical name."""
    project = rehearsed.home / "projects" / "dra-fleet" / NAME
    (project / f"Pulumi.{NAME}.yaml").write_text(file.read_text())
    preview = rehearsed.shell(f"pulumi preview --stack {NAME} --json", project)
    assert preview.code == 0, preview.out + preview.err
    steps: list[dict[str, Any]] = json.loads(preview.out)["steps"]
    return {step["urn"].rsplit("::", 1)[-1]: step for step in steps if step["op"] != "same"}


@pytest.mark.full
def test_a_raised_minimum_is_applied_and_a_pool_that_grew_keeps_its_nodes(own_rehearsed: Rehearsed) -> None:
    rehearsed = own_rehearsed
    rehearsed.up(stack_file(rehearsed.files, least=2))
    assert {name: asked_for(declared(rehearsed, name)["inputs"]) for name in POOLS} == dict.fromkeys(POOLS, 2)
    assert previewed(rehearsed, stack_file(rehearsed.files, least=2)) == {}

    for name in POOLS:
        grow(rehearsed, name, 5)
        asyncio.run(keep_nodes(rehearsed, name.partition("-")[0]))
    file = stack_file(rehearsed.files, least=3)
    steps = previewed(rehearsed, file)
    assert {name: (step["op"], asked_for(step["newState"]["inputs"])) for name, step in steps.items()} == (
        dict.fromkeys(POOLS, ("update", 5))
    )
    rehearsed.up(file)
    assert {name: asked_for(declared(rehearsed, name)["outputs"]) for name in POOLS} == dict.fromkeys(
        POOLS, 5
    )

    rehearsed.up(stack_file(rehearsed.files, least=6))
    assert {name: asked_for(declared(rehearsed, name)["outputs"]) for name in POOLS} == dict.fromkeys(
        POOLS, 6
    )
