"""Pods of a mix on a real scheduler, compared with the proof's verdicts.

The simulated driver publishes the ResourceSlices. A pod's PodScheduled condition alone decides.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING

from tests.charts import chart_folder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine.arrival_mixes import Mix
    from tests.engine_support import SimulatedCluster

RESOURCE_API = "resource.k8s.io/v1"
DEADLINE = 300.0
"""Seconds until the scheduler has decided about every pod."""
WAITS = ("cannot allocate all claims", "cannot be satisfied")
"""The scheduler's messages for a pod without devices, and for its gang."""


async def agree(cluster: SimulatedCluster, mix: Mix, namespace: str) -> Counter[str]:
    """Create the pods of a mix, compare, remove them, and return how many of each workload were placed."""
    async with cluster.admin() as api:
        for body in mix.objects(namespace):
            await api.create(body)
        placed = await _settled(api, namespace, mix)
        await _remove(api, namespace)
    needed = mix.needed()
    words = {item.name: item.word for item in mix.proof.workloads}
    shown = {name: f"{words[name]}: {placed[name]} placed, {count} needed" for name, count in needed.items()}
    print(f"{namespace}: {shown}")  # noqa: T201 - the counts are part of the result
    short = {name for name, count in needed.items() if placed[name] < count}
    assert not short & mix.words("guaranteed"), shown
    assert mix.words("never") <= short, shown
    assert not [name for name in mix.without_a_place() if placed[name]], shown
    assert not [name for name in mix.gangs() & short if placed[name]], shown
    assert mix.proof.fits or short, shown
    return placed


async def prepare(cluster: SimulatedCluster, mix: Mix, devices: int, tools: Toolset, values: Path) -> None:
    """Install the driver and the classes of a mix, and wait for the devices."""
    _install(cluster, mix, tools, values)
    async with cluster.admin() as api:
        for item in mix.cluster.classes:
            metadata = {"name": item.name}
            body = {"apiVersion": RESOURCE_API, "kind": "DeviceClass", "metadata": metadata}
            await api.create({**body, "spec": item.spec.to_object()})

        async def is_published() -> bool:
            slices = (await api.list(RESOURCE_API, "ResourceSlice"))["items"]
            return sum(len(item["spec"].get("devices", [])) for item in slices) == devices

        await _eventually(f"{devices} devices are published", is_published)


async def _settled(api: KubeApi, namespace: str, mix: Mix) -> Counter[str]:
    """Return how many pods of each workload are placed, once the scheduler rejects all others.

    After the deadline, pods of guaranteed workloads can be missing.
    """
    end = time.monotonic() + DEADLINE
    needed = mix.needed()
    while True:
        pods = (await api.list("v1", "Pod", namespace))["items"]
        waiting = [pod for pod in pods if not _is_placed(pod)]
        placed = Counter(_workload(pod) for pod in pods if _is_placed(pod))
        enough = all(placed[name] >= needed[name] for name in mix.words("guaranteed"))
        if (enough and all(_lacks_devices(pod) for pod in waiting)) or time.monotonic() > end:
            undecided = [pod["status"] for pod in waiting if not _lacks_devices(pod)]
            assert not undecided, f"the scheduler did not decide within {DEADLINE:.0f} s: {undecided}"
            return placed
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


def _install(cluster: SimulatedCluster, mix: Mix, tools: Toolset, values: Path) -> None:
    """Install the driver that the plan releases, by helm."""
    (release,) = mix.cluster.releases
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
    message = _scheduled(pod).get("message", "")
    return any(text in message for text in WAITS)


def _workload(pod: Object) -> str:
    return pod["metadata"]["labels"]["dra-fleet/workload"]
