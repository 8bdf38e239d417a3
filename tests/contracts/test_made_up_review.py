import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.meadow_stack import stack
from tests.contracts.registering import MADE_UP

STACK = "urn:pulumi:farm::dra-fleet::pulumi:pulumi:Stack::dra-fleet-farm"
CLUSTER = "dra-fleet:clouds:MeadowCluster"
POOL = "meadow:index:Pool"
HOLDERS = {
    "clusters": {
        "lab": {
            "pools": {"hens": {"nodes": 1, "node_names": ["hens-0"]}},
            "workloads": {
                "smoke": {
                    "pods": [
                        {
                            "name": f"smoke-{number}",
                            "node": "hens-0",
                            "devices": [
                                {"driver": "lanes.acme.example", "pool": "hens-0", "device": f"lane-{number}"}
                            ],
                        }
                        for number in range(2)
                    ]
                }
            },
        }
    }
}
"""Answer of the cluster: two pods, each with a lane of the pool's only node."""


CHANGES: dict[str, tuple[str, dict[str, str]]] = {
    "none": ("same", {}),
    "other machine": ("replace", {"machine": "update-replace"}),
    "other image": ("update", {"image": "update"}),
    "more nodes": ("update", {"nodes": "update"}),
}
"""The step on the pool of each change, and what differs."""
EACH = """
import json, sys
from typer.testing import CliRunner
from dra_fleet.cli.main import app

runner = CliRunner()
said = {name: runner.invoke(app, words).stdout for name, words in json.loads(sys.argv[1]).items()}
print(json.dumps({name: json.loads(text) for name, text in said.items()}))
"""


def step(kind: str, name: str, operation: str, parent: str, diff: dict[str, str]) -> dict[str, Any]:
    """One step of the engine, as it reports it before it."""
    above = "" if parent == STACK else f"{CLUSTER}$"
    urn = f"urn:pulumi:farm::dra-fleet::{above}{kind}::{name}"
    state: dict[str, Any] = {"type": kind, "urn": urn, "parent": parent, "inputs": {}, "outputs": {}}
    detailed = {path: {"diffKind": change} for path, change in diff.items()}
    metadata: dict[str, Any] = {
        "op": operation,
        "urn": urn,
        "type": kind,
        "old": state,
        "new": state,
        "detailedDiff": detailed,
    }
    return {"resourcePreEvent": {"metadata": metadata}}


def asked(folder: Path, operation: str, diff: dict[str, str]) -> list[str]:
    """The command that reviews one step on the pool."""
    cluster = step(CLUSTER, "lab", "same", STACK, {})
    above = cluster["resourcePreEvent"]["metadata"]["urn"]
    events = [
        {"preludeEvent": {"config": {"dra-fleet:fleet": json.dumps(stack())}}},
        cluster,
        step(POOL, "lab-hens", operation, above, diff),
        {"summaryEvent": {"result": "succeeded", "PolicyPacks": {"dra-fleet": "0.1.0"}}},
    ]
    file, saved, running = (folder / name for name in ("farm.yaml", "events.jsonl", "running.json"))
    file.write_text(json.dumps({"config": {"dra-fleet:fleet": stack()}}), encoding="utf-8")
    saved.write_text("\n".join(json.dumps(event) for event in events), encoding="utf-8")
    running.write_text(json.dumps(HOLDERS), encoding="utf-8")
    options = ["--against", file, "--events", saved, "--running", running, "--out", folder / "out", "--json"]
    return ["review", str(file), *map(str, options)]


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the command's review of each change, from one process that has the made-up packages."""
    commands = {name: asked(tmp_path_factory.mktemp("farm"), *change) for name, change in CHANGES.items()}
    done = subprocess.run(
        [sys.executable, "-c", EACH, json.dumps(commands)],
        env={**os.environ, "PYTHONPATH": str(MADE_UP)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_its_pool_is_shown_with_its_devices_and_who_holds_them(reviews: dict[str, dict[str, Any]]) -> None:
    found = reviews["none"]
    (pool,) = found["pools"]
    assert {key: pool[key] for key in ("cluster", "name", "cloud", "machine")} == {
        "cluster": "lab",
        "name": "hens",
        "cloud": "meadow",
        "machine": "barn",
    }
    assert (pool["nodesNow"], pool["devicesPerNode"], pool["held"]) == (1, 2, 2)
    (kind,) = pool["kinds"]
    assert (kind["driver"], kind["count"], kind["memory"]) == ("lanes.acme.example", 2, "4Gi")
    assert (found["changes"], found["verdict"]["decision"]) == ([], "approve")


@pytest.mark.parametrize("change", ["other machine", "other image"])
def test_a_change_by_new_nodes_names_the_pods_that_lose_their_devices(
    change: str, reviews: dict[str, dict[str, Any]]
) -> None:
    found = reviews[change]
    (output,) = found["changes"]
    assert (output["kind"], output["action"], output["weight"]) == ("pool", "replace", "destructive")
    assert [pod["name"] for pod in found["blast"]["pods"]] == ["smoke-0", "smoke-1"]
    assert found["verdict"]["decision"] == "person"


@pytest.mark.slow
def test_a_change_in_place_takes_no_device(reviews: dict[str, dict[str, Any]]) -> None:
    found = reviews["more nodes"]
    (change,) = found["changes"]
    assert (change["action"], change["lostClaims"], found["blast"]["pods"]) == ("update", 0, [])
