"""A stack of a made-up cloud and a made-up driver is rehearsed until pods hold its devices, then reviewed.

Command line, program, policy pack, simulator and plugins are separate processes; each finds by itself
what the made-up package registers.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.rehearsal.tools import Toolset
from tests.contracts.meadow_stack import stack
from tests.contracts.registering import MADE_UP
from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine

PERSON = 10


@pytest.fixture(scope="module")
def rehearsed(tools: Toolset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """A home in an environment that has the made-up package."""
    del tools
    root = tmp_path_factory.mktemp("made-up")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(MADE_UP), prepend=":")
        found = Rehearsed(home=root / "home", files=root)
        yield found
        found.run("rehearse", "down", "--remove")


def stack_file(folder: Path, *, nodes: int, copies: int) -> Path:
    """The stack `farm` with so many nodes and copies of its workload."""
    config = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": stack(copies, nodes=nodes)}
    folder.mkdir(exist_ok=True)
    file = folder / "farm.yaml"
    file.write_text(json.dumps({"config": config}), encoding="utf-8")
    return file


def brought_up(rehearsed: Rehearsed) -> dict[str, Any]:
    """Return the status of the stack with two nodes and a copy for each of their lanes."""
    return rehearsed.up(stack_file(rehearsed.files, nodes=2, copies=4))


def holders(lab: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Pod -> node and device."""
    return {
        pod["name"]: (pod["node"], device["device"])
        for pod in lab["workloads"]["smoke"]["pods"]
        for device in pod["devices"]
    }


def test_a_made_up_cloud_gives_a_made_up_drivers_devices_to_pods(rehearsed: Rehearsed) -> None:
    shown = brought_up(rehearsed)
    lab = shown["clusters"]["lab"]
    assert shown["all_allocated"] is True
    assert lab["pools"] == {"hens": {"nodes": 2, "devices": 4, "node_names": ["hens-0", "hens-1"]}}
    assert sorted(holders(lab).values()) == [
        (node, lane) for node in ("hens-0", "hens-1") for lane in ("lane-0", "lane-1")
    ]
    assert "cluster-require-minimum-kubernetes" in shown["policy"]["rules"]
    assert "cloud meadow is simulated by the plugin meadow 1.0.0" in shown["notes"]


def test_a_review_of_its_stack_names_the_pods_that_hold_its_devices(rehearsed: Rehearsed) -> None:
    lab = brought_up(rehearsed)["clusters"]["lab"]
    smaller = stack_file(rehearsed.files / "smaller", nodes=1, copies=2)
    out = rehearsed.files / "review"

    done = rehearsed.shell(f"dra-fleet review {smaller} --running clusters --out {out}")

    assert done.code == PERSON, done.out + done.err
    review = json.loads((out / "review.json").read_text(encoding="utf-8"))
    assert [change["text"] for change in review["changes"]] == [
        "workload smoke is replaced (completions, parallelism): 4 running claims lose their device",
        "pool hens: 2 nodes becomes 1 node",
    ]
    lost = {pod["name"]: (pod["node"], *pod["devices"]) for pod in review["blast"]["pods"]}
    assert lost == holders(lab)
