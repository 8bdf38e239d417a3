"""A pool's minimum is raised after the autoscaler has moved it: what AKS and EKS are then asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import httpx2
import pytest
from ruamel.yaml import YAML

from dra_fleet.rehearsal.home import Home

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine

NAME: Final = "scaled"
POOLS: Final = {
    "desk": ("aks", "azure-native:containerservice:AgentPool", "desk-gpu"),
    "train": ("eks", "aws:eks/nodeGroup:NodeGroup", "train-gpu"),
}
"""By cluster: the cloud, and type and logical name of the pool."""


def stack_file(files: Path, least: int) -> Path:
    """A stack of a pool on AKS and one on EKS, both of `least` to 8 nodes."""
    fixed = {"drivers": {"nvidia": {"version": "0.5.0"}}}
    desk = {
        "cloud": "aks",
        "region": "westeurope",
        "create": {"resourceGroup": "desk"},
        "access": {"private": True},
        "pools": {"gpu": {"machine": "Standard_NV6ads_A10_v5", "nodes": {"min": least, "max": 8}}},
    }
    train = {
        "cloud": "eks",
        "region": "us-east-1",
        "create": {"network": {"zones": ["us-east-1a", "us-east-1b"]}},
        "access": {"publicRanges": ["203.0.113.0/24"]},
        "pools": {"gpu": {"machine": "g6.xlarge", "nodes": {"min": least, "max": 8}}},
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


def declared(rehearsed: Rehearsed, cluster: str) -> dict[str, Any]:
    """A pool as the state holds it."""
    _, kind, name = POOLS[cluster]
    resources = json.loads(rehearsed.state(NAME))["checkpoint"]["latest"]["resources"]
    [found] = [item for item in resources if item["type"] == kind and item["urn"].endswith(f"::{name}")]
    return found


def asked_for(inputs: dict[str, Any]) -> int:
    """How many nodes inputs ask a cloud for."""
    return inputs["count"] if "count" in inputs else inputs["scalingConfig"]["desiredSize"]


def grow(rehearsed: Rehearsed, cluster: str, nodes: int) -> None:
    """Move a pool as an autoscaler does: the cloud knows, and the state does not."""
    cloud, kind, _ = POOLS[cluster]
    pool = declared(rehearsed, cluster)
    inputs = {key: value for key, value in pool["inputs"].items() if key != "__defaults"}
    if cloud == "aks":
        inputs["count"] = nodes
    else:
        inputs["scalingConfig"] = {**inputs["scalingConfig"], "desiredSize": nodes}
    subscription = {"subscriptionId": pool["id"].split("/")[2]} if cloud == "aks" else {"region": "us-east-1"}
    about = {"type": kind, "urn": pool["urn"], "id": pool["id"], "config": subscription}
    transport = httpx2.HTTPTransport(uds=str(Home.at(rehearsed.home).socket))
    with httpx2.Client(transport=transport, base_url="http://world", timeout=600, trust_env=False) as world:
        body = {**about, "olds": pool["inputs"], "news": inputs, "preview": False}
        world.post(f"/v1/clouds/{cloud}/update", json=body).raise_for_status()


def previewed(rehearsed: Rehearsed, file: Path) -> dict[str, Any]:
    """What a preview of a stack file says: the steps that change something, by logical name."""
    project = rehearsed.home / "projects" / "dra-fleet" / NAME
    (project / f"Pulumi.{NAME}.yaml").write_text(file.read_text())
    preview = rehearsed.shell(f"pulumi preview --stack {NAME} --json", project)
    assert preview.code == 0, preview.out + preview.err
    steps: list[dict[str, Any]] = json.loads(preview.out)["steps"]
    return {step["urn"].rsplit("::", 1)[-1]: step for step in steps if step["op"] != "same"}


def test_a_raised_minimum_is_applied_and_a_pool_that_grew_keeps_its_nodes(own_rehearsed: Rehearsed) -> None:
    rehearsed = own_rehearsed
    first = rehearsed.up(stack_file(rehearsed.files, least=2))
    assert {asked_for(declared(rehearsed, cluster)["inputs"]) for cluster in POOLS} == {2}
    assert first["clusters"].keys() == POOLS.keys()
    assert previewed(rehearsed, stack_file(rehearsed.files, least=2)) == {}

    for cluster in POOLS:
        grow(rehearsed, cluster, 5)
    file = stack_file(rehearsed.files, least=3)
    steps = previewed(rehearsed, file)
    assert {name: (step["op"], asked_for(step["newState"]["inputs"])) for name, step in steps.items()} == {
        "desk-gpu": ("update", 5),
        "train-gpu": ("update", 5),
    }
    rehearsed.up(file)
    assert {asked_for(declared(rehearsed, cluster)["outputs"]) for cluster in POOLS} == {5}

    rehearsed.up(stack_file(rehearsed.files, least=6))
    assert {asked_for(declared(rehearsed, cluster)["outputs"]) for cluster in POOLS} == {6}
