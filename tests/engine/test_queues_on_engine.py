"""Kueue's own controller in a rehearsed cluster starts what the proof says, in 50 random mixes."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from dra_fleet.fleet.queueing.kueue import API
from dra_fleet.model.specs import WORKLOAD
from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.home import Home
from tests.engine.queue_mixes import draw
from tests.engine.rehearsed import PROJECT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from dra_fleet.clusters.client import KubeApi, Object
    from tests.engine.queue_mixes import QueueMix
    from tests.engine.rehearsed import Rehearsed

SEEDS = range(50)
NAMESPACE = "gpu-workloads"
TEMPLATE = "mix"
DEADLINE = 180.0
STAYS = 1.5
"""Seconds for which nothing may change before it counts as the end."""


def test_the_mixes_hold_every_word_often_enough() -> None:
    words = Counter(item.word for seed in SEEDS for item in draw(seed, NAMESPACE).admissions.of.values())
    assert set(words) == {"guaranteed", "possible", "never"}
    assert min(words.values()) > len(SEEDS) / 3
    assert sum(draw(seed, NAMESPACE).admissions.stops for seed in SEEDS) > len(SEEDS) / 3


@pytest.fixture(scope="module")
def queueing(rehearsed: Rehearsed) -> Rehearsed:
    """The example's cluster with its queues and no workloads, and a template of one GPU."""
    file = _without_workloads(rehearsed.files)
    up = rehearsed.run("rehearse", "up", str(file), "--json")
    assert up.code == 0, up.err
    asyncio.run(_prepare(rehearsed))
    return rehearsed


@pytest.mark.engine
@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS)
def test_kueue_starts_what_the_proof_says(queueing: Rehearsed, seed: int) -> None:
    asyncio.run(_agree(queueing, draw(seed, NAMESPACE)))


async def _agree(queueing: Rehearsed, mix: QueueMix) -> None:
    output = mix.admissions
    async with connect(Home(queueing.home), "lab") as api:
        for body in (*mix.queue_objects(), *mix.jobs(TEMPLATE)):
            await api.create(body)
        started = await _ended(api, output.ends)
        await _remove(api, mix)
    words = {name: item.word for name, item in output.of.items()}
    shown = f"started {sorted(started)}; words {words}; ends {[sorted(end) for end in output.ends]}"
    assert started in output.ends, shown
    assert {name for name, word in words.items() if word == "guaranteed"} <= started, shown
    assert not {name for name, word in words.items() if word == "never"} & started, shown


async def _ended(api: KubeApi, ends: tuple[frozenset[str], ...]) -> frozenset[str]:
    """The workloads that are started once nothing changes any more: in an end, or when the time is up."""
    deadline = time.monotonic() + DEADLINE
    since, before = time.monotonic(), frozenset[str]()
    while True:
        now = await _started(api)
        if now != before:
            since, before = time.monotonic(), now
        elif now in ends and time.monotonic() - since > STAYS:
            return now
        if time.monotonic() > deadline:
            return now
        await asyncio.sleep(0.2)


async def _started(api: KubeApi) -> frozenset[str]:
    found: list[Object] = (await api.list(API, "Workload", NAMESPACE))["items"]
    return frozenset(item["metadata"]["labels"][WORKLOAD] for item in found if _has(item, "Admitted"))


def _has(item: Object, kind: str) -> bool:
    conditions: list[Object] = item.get("status", {}).get("conditions", [])
    return any((one["type"], one["status"]) == (kind, "True") for one in conditions)


async def _remove(api: KubeApi, mix: QueueMix) -> None:
    for item in mix.workloads:
        with_pods = {"propagationPolicy": "Background"}
        await api.delete("batch/v1", "Job", item.name, NAMESPACE, options=with_pods)

    async def are_gone() -> bool:
        left = await asyncio.gather(
            api.list(API, "Workload", NAMESPACE),
            api.list("v1", "Pod", NAMESPACE),
            api.list("resource.k8s.io/v1", "ResourceClaim", NAMESPACE),
        )
        return not any(one["items"] for one in left)

    await _eventually("workloads, pods and claims are gone", are_gone)
    for queue in mix.queues:
        await api.delete(API, "LocalQueue", queue.name, NAMESPACE)
        await api.delete(API, "ClusterQueue", queue.name)


async def _prepare(queueing: Rehearsed) -> None:
    request: dict[str, Any] = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": TEMPLATE, "namespace": NAMESPACE},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }
    async with connect(Home(queueing.home), "lab") as api:
        await api.create(template)


async def _eventually(what: str, reached: Callable[[], Awaitable[bool]]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not await reached():
        assert time.monotonic() < deadline, f"not within {DEADLINE:.0f} s: {what}"
        await asyncio.sleep(0.2)


def _without_workloads(folder: Path) -> Path:
    yaml = YAML(typ="safe", pure=True)
    content: Any = yaml.load(PROJECT / "examples" / "team-queues.yaml")  # pyright: ignore[reportUnknownMemberType]
    del content["config"]["dra-fleet:fleet"]["workloads"]
    (folder / "hardware").mkdir(exist_ok=True)
    hardware = (PROJECT / "examples" / "hardware" / "team-queues.yaml").read_text()
    (folder / "hardware" / "queues.yaml").write_text(hardware)
    file = folder / "queues.yaml"
    yaml.dump(content, file)  # pyright: ignore[reportUnknownMemberType]
    return file
