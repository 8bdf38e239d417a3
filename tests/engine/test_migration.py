"""A Deployment asks by a device plugin's name while its cluster moves to DRA in the examples' three steps."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.home import Home
from tests.engine.rehearsed import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

    from dra_fleet.clusters.client import Object
    from tests.engine.rehearsed import Finished, Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

STEPS = ("migration-1-device-plugin", "migration-2-coexistence", "migration-3-dra")
REPLICAS = 3
WITHIN = 120.0
"""Seconds; only to end a hang."""
SERVER = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "server", "namespace": "default"},
    "spec": {
        "replicas": REPLICAS,
        "selector": {"matchLabels": {"app": "server"}},
        "template": {
            "metadata": {"labels": {"app": "server"}},
            "spec": {
                "containers": [
                    {
                        "name": "server",
                        "image": "example.com/server:1",
                        "resources": {"limits": {"nvidia.com/gpu": "1"}},
                    }
                ]
            },
        },
    },
}


def stack_file(files: Path, step: str) -> Path:
    """One of the three states, as the stack `migration`."""
    (files / "hardware").mkdir(exist_ok=True)
    (files / "hardware" / "migration.yaml").write_text("clusters: {}\n")
    file = files / "migration.yaml"
    file.write_text((PROJECT / "examples" / f"{step}.yaml").read_text())
    return file


def taken(rehearsed: Rehearsed, step: str) -> tuple[Finished, int]:
    """The stack in its next state, and how many pods ran at the worst moment of the way."""
    return asyncio.run(_taken(rehearsed, step))


async def _taken(rehearsed: Rehearsed, step: str) -> tuple[Finished, int]:
    file = stack_file(rehearsed.files, step)
    up = asyncio.create_task(asyncio.to_thread(rehearsed.run, "rehearse", "up", str(file), "--json"))
    least = REPLICAS
    async with connect(Home.at(rehearsed.home), "studio") as api:
        while not up.done():
            pods = (await api.list("v1", "Pod", "default"))["items"]
            least = min(least, len([pod for pod in pods if runs(pod)]))
            await asyncio.sleep(0.5)
    return await up, least


def runs(pod: Object) -> bool:
    """Return True if a pod runs and is not being deleted."""
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


async def _served(rehearsed: Rehearsed) -> dict[str, list[str]]:
    """By pool, who gave the Deployment's pods their devices there, once all of them run."""
    async with connect(Home.at(rehearsed.home), "studio") as api:
        if await api.find("apps/v1", "Deployment", "server", "default") is None:
            await api.create(SERVER)
        deadline = time.monotonic() + WITHIN
        while True:
            pods = [pod for pod in (await api.list("v1", "Pod", "default"))["items"] if runs(pod)]
            if len(pods) == REPLICAS or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.5)
        assert len(pods) == REPLICAS
        nodes = {node["metadata"]["name"]: node for node in (await api.list("v1", "Node"))["items"]}
    found: dict[str, list[str]] = {}
    for pod in pods:
        node: dict[str, Any] = nodes[pod["spec"]["nodeName"]]
        by_claim = "extendedResourceClaimStatus" in pod["status"]
        assert by_claim != (node["status"]["allocatable"].get("nvidia.com/gpu", "0") != "0")
        pool = node["metadata"]["labels"]["dra-fleet/pool"]
        found.setdefault(pool, []).append("dra" if by_claim else "device-plugin")
    return found


def test_a_deployment_with_gpu_limits_runs_on_through_the_three_steps_of_a_migration(
    own_rehearsed: Rehearsed,
) -> None:
    first = own_rehearsed.run("rehearse", "up", str(stack_file(own_rehearsed.files, STEPS[0])), "--json")
    assert first.code == 0, first.err
    pools = first.json["clusters"]["studio"]["pools"]
    assert {name: (pool["nodes"], pool["devices"]) for name, pool in pools.items()} == {
        "batch": (2, 0),
        "serve": (2, 0),
    }
    served = asyncio.run(_served(own_rehearsed))
    assert {by for given in served.values() for by in given} == {"device-plugin"}

    second, least = taken(own_rehearsed, STEPS[1])
    assert second.code == 0, second.err
    assert second.json["all_allocated"] is True
    assert second.json["clusters"]["studio"]["pools"]["batch"]["devices"] == 2
    assert least >= 1
    assert asyncio.run(_served(own_rehearsed)) == {
        "batch": ["dra"],
        "serve": ["device-plugin", "device-plugin"],
    }

    third, least = taken(own_rehearsed, STEPS[2])
    assert third.code == 0, third.err
    assert third.json["all_allocated"] is True
    assert least >= 1
    served = asyncio.run(_served(own_rehearsed))
    assert {by for given in served.values() for by in given} == {"dra"}
