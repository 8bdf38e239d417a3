"""The proof's verdicts against the real scheduler: pods come one by one, in an order drawn from a seed.

The driver's stand-in publishes the ResourceSlices. A pod is judged by its PodScheduled condition alone.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.charts import chart_folder
from tests.engine.arrival_mixes import DEVICES, HARDWARE, draw

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine_support import RehearsalWorld, SimulatedCluster

pytestmark = pytest.mark.engine

SEEDS = range(100)
HALF = 50
RESOURCE_API = "resource.k8s.io/v1"
DEADLINE = 300.0
"""Seconds until the scheduler has told what becomes of every pod."""
NO_DEVICE = "cannot allocate all claims"
"""The scheduler's words where no node has what a pod's claim asks for."""


@pytest.fixture(scope="module")
def cluster(
    rehearsal_world: RehearsalWorld, tools: Toolset, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SimulatedCluster]:
    """Four machines whose devices the driver of the plan has published, and the plan's classes."""
    made = rehearsal_world.new_cluster(HARDWARE)
    _install(made, tools, tmp_path_factory.mktemp("values") / "values.json")
    asyncio.run(_prepare(made))
    yield made
    rehearsal_world.remove(made)


def test_the_mixes_hold_every_verdict_often_enough() -> None:
    for half in (SEEDS[:HALF], SEEDS[HALF:]):
        mixes = [draw(seed) for seed in half]
        words = Counter(item.word for mix in mixes for item in mix.proof.workloads)
        assert words["guaranteed"] > HALF / 2
        assert words["never"] > HALF / 6
        assert words["possible"] > HALF / 3
        assert sum(not mix.proof.fits for mix in mixes) > HALF / 5
        assert any(not mix.proof.fits and not mix.words("never") for mix in mixes)
        assert any(mix.without_a_place() for mix in mixes)


@pytest.mark.parametrize("seed", SEEDS[:HALF])
def test_no_guaranteed_pod_ever_waits_and_none_called_never_is_placed(
    cluster: SimulatedCluster, seed: int
) -> None:
    asyncio.run(_agree(cluster, seed))


@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS[HALF:])
def test_no_guaranteed_pod_of_the_other_half_ever_waits(cluster: SimulatedCluster, seed: int) -> None:
    asyncio.run(_agree(cluster, seed))


async def _agree(cluster: SimulatedCluster, seed: int) -> None:
    mix, namespace = draw(seed), f"mix-{seed}"
    async with cluster.admin() as api:
        for body in mix.objects(namespace):
            await api.create(body)
        placed = await _settled(api, namespace, mix.words("guaranteed"))
        await _remove(api, namespace)
    wanted = Counter(mix.arrivals)
    words = {item.name: item.word for item in mix.proof.workloads}
    shown = {name: f"{words[name]}: {placed[name]} of {copies} placed" for name, copies in wanted.items()}
    print(f"seed {seed}: {shown}")  # noqa: T201 - the counts are part of the result
    assert {name: placed[name] for name in mix.words("guaranteed")} == {
        name: wanted[name] for name in mix.words("guaranteed")
    }, shown
    assert not [name for name in mix.without_a_place() if placed[name]], shown
    assert not [name for name in mix.words("never") if placed[name] == wanted[name]], shown
    assert mix.proof.fits or placed != wanted, shown


async def _settled(api: KubeApi, namespace: str, guaranteed: AbstractSet[str]) -> Counter[str]:
    """How many pods of each workload are placed, once nothing guaranteed waits or the deadline has passed."""
    end = time.monotonic() + DEADLINE
    while True:
        pods = (await api.list("v1", "Pod", namespace))["items"]
        waiting = [pod for pod in pods if not _is_placed(pod)]
        is_told = all(_lacks_devices(pod) and _workload(pod) not in guaranteed for pod in waiting)
        if is_told or time.monotonic() > end:
            untold = [pod["status"] for pod in waiting if not _lacks_devices(pod)]
            assert not untold, f"the scheduler said nothing of devices within {DEADLINE:.0f} s: {untold}"
            return Counter(_workload(pod) for pod in pods if _is_placed(pod))
        await asyncio.sleep(0.1)


async def _remove(api: KubeApi, namespace: str) -> None:
    """Delete the pods at once and wait until their claims are gone, which frees the devices."""
    pods = await api.resource("v1", "Pod")
    now = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
    await api.request("DELETE", pods.path(namespace), body=now)

    async def is_free() -> bool:
        return not (await api.list(RESOURCE_API, "ResourceClaim", namespace))["items"]

    await _eventually("the claims are gone", is_free)
    await api.delete("v1", "Namespace", namespace)


async def _prepare(cluster: SimulatedCluster) -> None:
    """Make the plan's classes and wait for the driver's devices."""
    async with cluster.admin() as api:
        for item in draw(0).cluster.classes:
            metadata = {"name": item.name}
            body = {"apiVersion": RESOURCE_API, "kind": "DeviceClass", "metadata": metadata}
            await api.create({**body, "spec": item.spec.to_object()})

        async def is_published() -> bool:
            slices = (await api.list(RESOURCE_API, "ResourceSlice"))["items"]
            return sum(len(item["spec"].get("devices", [])) for item in slices) == DEVICES

        await _eventually(f"{DEVICES} devices are published", is_published)


def _install(cluster: SimulatedCluster, tools: Toolset, values: Path) -> None:
    """Install the driver that the plan releases, by helm."""
    (release,) = draw(0).cluster.releases
    values.write_text(json.dumps(release.values))
    chart = chart_folder(release.chart.rpartition("/")[2], release.version)
    command = [str(tools.helm), "install", release.name, str(chart), "--values", str(values)]
    command += ["--namespace", release.namespace, "--create-namespace"]
    done = subprocess.run(
        [*command, "--kubeconfig", str(cluster.admin_kubeconfig)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


async def _eventually(what: str, ask: Callable[[], Awaitable[bool]]) -> None:
    end = time.monotonic() + DEADLINE
    while not await ask():
        assert time.monotonic() < end, f"{what}: not within {DEADLINE:.0f} s"
        await asyncio.sleep(0.1)


def _scheduled(pod: Object) -> Object:
    conditions: list[Object] = pod.get("status", {}).get("conditions", [])
    nothing: Object = {}
    return next((item for item in conditions if item["type"] == "PodScheduled"), nothing)


def _is_placed(pod: Object) -> bool:
    return _scheduled(pod).get("status") == "True"


def _lacks_devices(pod: Object) -> bool:
    return NO_DEVICE in _scheduled(pod).get("message", "")


def _workload(pod: Object) -> str:
    return pod["metadata"]["labels"]["dra-fleet/workload"]
