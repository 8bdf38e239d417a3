"""Mixes of workloads on clusters whose pools scale, drawn from a seed, and their run on a rehearsal."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from dra_fleet.clusters.client import KubeApi, Object, carries
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.home import Home
from tests.engine.arrival_mixes import Mix

DEADLINE: Final = 180.0
POLL_SECONDS: Final = 0.5
QUIET_SECONDS: Final = 4.0
"""Seconds without a change until a mix has settled: some scans of the autoscaler."""
DRIVERS: Final = {"nvidia": {"version": "0.5.0"}}
CLUSTERS: Final[dict[str, Any]] = {
    "desk": {
        "cloud": "aks",
        "region": "westeurope",
        "create": {"resourceGroup": "desk"},
        "access": {"private": True},
        "drivers": DRIVERS,
        "pools": {
            "sixth": {"machine": "Standard_NV6ads_A10_v5", "nodes": {"min": 1, "max": 3}},
            "solo": {"machine": "Standard_NC24ads_A100_v4", "nodes": {"min": 1, "max": 2}},
            "duo": {"machine": "Standard_NC48ads_A100_v4", "nodes": {"min": 1, "max": 2}},
        },
    },
    "render": {
        "cloud": "gke",
        "project": "null-render",
        "location": "us-central1",
        "create": {"network": "default"},
        "access": {"external": True},
        "drivers": DRIVERS,
        "pools": {
            "l4": {"machine": "g2-standard-8", "nodes": {"min": 0, "max": 2}, "zones": ["us-central1-a"]},
            "twin": {"machine": "g2-standard-24", "nodes": {"min": 1, "max": 2}, "zones": ["us-central1-a"]},
        },
    },
}
CLASSES: Final = {
    "large": {"driver": "nvidia", "type": "gpu", "memory": {"min": "20Gi"}},
    "ada": {"driver": "nvidia", "type": "gpu", "architecture": "Ada Lovelace"},
    "ampere": {"driver": "nvidia", "type": "gpu", "architecture": "Ampere"},
}
CLAIMS: Final = {
    name: {"requests": {"gpu": {"class": device_class, "count": count}}}
    for name, device_class, count in (
        ("any", "gpu.nvidia.com", 1),
        ("large", "large", 1),
        ("ada", "ada", 1),
        ("ada-pair", "ada", 2),
        ("ampere", "ampere", 1),
        ("ampere-pair", "ampere", 2),
        ("three", "gpu.nvidia.com", 3),
    )
}
MOST_COPIES: Final = {
    "desk": {"any": 9, "large": 7, "ampere": 9, "ampere-pair": 2, "three": 2},
    "render": {"any": 6, "large": 6, "ada": 6, "ada-pair": 2, "three": 2},
}
KARPENTER: Final[dict[str, Any]] = {
    "dots": {
        "cloud": "eks",
        "region": "us-east-1",
        "create": {"network": {"zones": ["us-east-1a", "us-east-1b"]}},
        "access": {"private": True},
        "karpenter": "1.15.1",
        "drivers": DRIVERS,
        "pools": {
            name: {
                "machine": machine,
                "nodes": {"min": 0, "max": most},
                "karpenter": True,
                "extra": {"disruption": {"consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]}},
            }
            for name, machine, most in (
                ("solo", "g5.xlarge", 3),
                ("quad", "g5.12xlarge", 1),
                ("l4", "g6.xlarge", 2),
            )
        },
    }
}
MOST_ON_KARPENTER: Final = {
    "dots": {"any": 9, "large": 7, "ampere": 7, "ampere-pair": 3, "ada": 3, "ada-pair": 1, "three": 2}
}
EVENTS: Final = {
    "cluster-autoscaler": ("NotTriggerScaleUp", "TriggeredScaleUp"),
    "karpenter": ("FailedScheduling", "Nominated"),
}
"""Reasons of an autoscaler's events about pods for which it adds no node, and for which it adds one."""
NEVER_FIRST: Final = "the autoscaler never adds the first node"


def settings(
    workloads: Mapping[str, Any] | None = None, clusters: Mapping[str, Any] = CLUSTERS
) -> dict[str, Any]:
    """Return the stack with these workloads."""
    return {
        "owner": "ml-platform",
        "environment": "development",
        "kubernetes": "1.36",
        "clusters": clusters,
        "classes": CLASSES,
        "claims": {name: CLAIMS[name] for name in {item["claim"] for item in (workloads or {}).values()}},
        "workloads": dict(workloads or {}),
    }


@dataclass(frozen=True, kw_only=True)
class GrowthMix(Mix):
    """A mix, and the workloads that cannot add the first node of a pool though they fit on it."""

    never_first: frozenset[str]


def draw(
    seed: int, copies: Mapping[str, Mapping[str, int]] = MOST_COPIES, clusters: Mapping[str, Any] = CLUSTERS
) -> dict[str, GrowthMix]:
    """Return the mix of a seed for each cluster."""
    chance = random.Random(seed)
    workloads: dict[str, Any] = {}
    for cluster, most in copies.items():
        for claim in chance.sample(sorted(most), chance.choice([1, 2, 2])):
            count = chance.randint(1, most[claim])
            workloads[f"{cluster}-{claim}"] = {"cluster": cluster, "claim": claim, "copies": count}
    plan = make_plan(parse(settings(workloads, clusters)))
    proof = prove(plan)
    return {cluster.name: _mix(chance, cluster, proof) for cluster in plan.clusters}


def _mix(chance: random.Random, cluster: Any, proof: Any) -> GrowthMix:
    arrivals = [item.name for item in cluster.workloads for _ in range(item.copies)]
    chance.shuffle(arrivals)
    own = tuple(item for item in proof.workloads if item.cluster == cluster.name)
    never_first = {
        item.name
        for item in own
        for warning in proof.warnings
        if f"workload {item.name} " in warning and NEVER_FIRST in warning
    }
    return GrowthMix(
        cluster=cluster,
        proof=replace(proof, workloads=own),
        arrivals=tuple(arrivals),
        never_first=frozenset(never_first),
    )


@dataclass(kw_only=True)
class Run:
    """A mix on its cluster. Each look checks that bounds are kept and that no placed pod is lost."""

    api: KubeApi
    mix: GrowthMix
    namespace: str
    sizes: dict[str, int]

    async def look(self) -> dict[str, Object]:
        """Return the pods by name, and check all sizes."""
        nodes = (await self.api.list("v1", "Node"))["items"]
        for pool in self.mix.cluster.pools:
            self.sizes[pool.name] = sum(carries(node, pool.labels) for node in nodes)
            assert pool.min_nodes <= self.sizes[pool.name] <= pool.max_nodes, self.sizes
        pods = (await self.api.list("v1", "Pod", self.namespace))["items"]
        return {pod["metadata"]["name"]: pod for pod in pods}

    async def until(self, what: str, reached: Callable[[dict[str, Object]], bool]) -> dict[str, Object]:
        """Return the pods once they are as expected."""
        end = time.monotonic() + DEADLINE
        while not reached(pods := await self.look()):
            assert time.monotonic() < end, f"{self.namespace}: {what}: {self.sizes}, {_states(pods)}"
            await asyncio.sleep(POLL_SECONDS)
        return pods

    async def until_settled(self) -> dict[str, Object]:
        """Return the pods once neither they nor the pools have changed for a while."""
        before, since = "", time.monotonic()
        pods: dict[str, Object] = {}
        end = time.monotonic() + DEADLINE
        while time.monotonic() - since < QUIET_SECONDS or not before:
            pods = await self.look()
            waiting = [name for name, pod in pods.items() if not _node_of(pod)]
            now = repr((sorted(waiting), self.sizes, sorted(await self._said(waiting))))
            if now != before or len(await self._said(waiting)) < len(waiting):
                before, since = now, time.monotonic()
            assert time.monotonic() < end, f"{self.namespace} does not settle: {now}"
            await asyncio.sleep(POLL_SECONDS)
        return pods

    async def _said(self, waiting: list[str]) -> set[str]:
        """Return the waiting pods for which the autoscaler adds no node."""
        return await self._events(0) & set(waiting)

    async def grown_for(self) -> set[str]:
        """Return the pods for which a node was added."""
        return await self._events(1)

    async def _events(self, number: int) -> set[str]:
        source = "karpenter" if self.mix.cluster.pools[0].autoscaler else "cluster-autoscaler"
        events = (await self.api.list("v1", "Event", self.namespace))["items"]
        return {
            item["involvedObject"]["name"]
            for item in events
            if item["reason"] == EVENTS[source][number] and item["source"].get("component") == source
        }


async def agree(home: Home, name: str, mix: GrowthMix, namespace: str, *, keep_one: bool) -> str:
    """Create the pods of a mix, compare with the proof, delete them, and return the outcome as a line."""
    async with connect(home, name) as api:
        run = Run(api=api, mix=mix, namespace=namespace, sizes={})
        await run.until("pools start at their minimum", lambda _: _is_least(run))
        began = time.monotonic()
        for body in mix.objects(namespace):
            await api.create(body)
        pods = await run.until_settled()
        seconds = time.monotonic() - began - QUIET_SECONDS
        shown = await _compare(run, pods)
        await _delete(run, pods, keep_one=keep_one)
        await api.delete("v1", "Namespace", namespace)
        return f"{namespace} on {name} in {seconds:.0f} s: {shown}"


async def _compare(run: Run, pods: Mapping[str, Object]) -> str:
    mix = run.mix
    placed = Counter(_workload(pod) for pod in pods.values() if _node_of(pod))
    needed = mix.needed()
    words = {item.name: item.word for item in mix.proof.workloads}
    grown = {_workload(pods[name]) for name in await run.grown_for()}
    shown = ", ".join(f"{name} {words[name]} {placed[name]}/{count}" for name, count in needed.items())
    shown += f"; pools {run.sizes}; grown for {sorted(grown)}"
    short = {name for name, count in needed.items() if placed[name] < count}
    assert not (mix.words("guaranteed") - mix.never_first) & short, shown
    assert mix.words("never") <= short, shown
    assert not [name for name in mix.without_a_place() if placed[name] or name in grown], shown
    if words.keys() <= mix.never_first | mix.without_a_place():
        assert not any(run.sizes[pool.name] for pool in mix.cluster.pools if not pool.min_nodes), shown
    return shown


async def _delete(run: Run, pods: Mapping[str, Object], *, keep_one: bool) -> None:
    """Delete the pods, one of them last, and wait until the pools are at their minimum."""
    kept = next((name for name, pod in sorted(pods.items()) if keep_one and _node_of(pod)), "")
    for name in pods.keys() - {kept}:
        await run.api.delete("v1", "Pod", name, run.namespace, options={"gracePeriodSeconds": 0})
    if kept:
        await run.until("other pods end", lambda found: found.keys() == {kept})
        await asyncio.sleep(2 * QUIET_SECONDS)
        found = await run.until("idle nodes are removed", lambda _: _is_least(run, but_one=True))
        assert _node_of(found[kept]) == _node_of(pods[kept]), "the node with a device in use was removed"
        await run.api.delete("v1", "Pod", kept, run.namespace, options={"gracePeriodSeconds": 0})
    await run.until("pools return to their minimum", lambda found: not found and _is_least(run))


def _is_least(run: Run, *, but_one: bool = False) -> bool:
    more = sum(run.sizes[pool.name] - pool.min_nodes for pool in run.mix.cluster.pools)
    return more <= but_one


def _states(pods: Mapping[str, Object]) -> dict[str, Object]:
    return {name: pod.get("status", {}) for name, pod in pods.items() if not _node_of(pod)}


def _node_of(pod: Object) -> str:
    return str(pod["spec"].get("nodeName") or "")


def _workload(pod: Object) -> str:
    return pod["metadata"]["labels"]["dra-fleet/workload"]
