"""A simulated Cluster Autoscaler: adds nodes for pods that the scheduler rejects, and removes idle nodes.

It follows https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler (2026-11-28). Its times are
shorter, it removes only idle nodes, it prefers the suitable pool with the fewest devices, and it ignores
affinities between pods.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import httpx2
from msgspec import Struct, field

from dra_fleet.clusters.client import ApiError
from dra_fleet.clusters.pending.state import devices_in, read_state, results_of
from dra_fleet.rehearsal.agent.events import LONGEST_MESSAGE, event_of
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from dra_fleet.rehearsal.simulator.errors import SimulatorError
from dra_fleet.rehearsal.simulator.packing import LEAVING, Packing, has_ended, is_daemon, template_of
from dra_fleet.rehearsal.simulator.processes import cancel
from dra_fleet.rehearsal.simulator.queued import serve_requests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.clusters.pending import ClusterState
    from dra_fleet.rehearsal.clouds.cloud import SimulatedCloud
    from dra_fleet.rehearsal.clouds.scaling import ScaledPool
    from dra_fleet.rehearsal.clouds.simulation import SimulatedClouds
    from dra_fleet.rehearsal.simulator.packing import Template
    from dra_fleet.rehearsal.simulator.simulator import Simulator

SCAN_SECONDS: Final = 1.0
REST: Final = 4
"""Multiple of a scan's duration until the next scan of the same cluster."""
IDLE_SECONDS: Final = 10.0
"""Seconds until an idle node is removed; the default of Cluster Autoscaler is 10 minutes."""
BACKOFF_SECONDS: Final = 20.0
"""Seconds until the next attempt after the cloud refused a machine; Cluster Autoscaler waits 5 minutes."""
UPCOMING_SECONDS: Final = 120.0
"""Seconds that a new node has to publish the devices that are expected of it."""
KEPT: Final = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
"""Annotation of a node that is never removed."""
SOURCE: Final = {"component": "cluster-autoscaler"}

logger = logging.getLogger(__name__)

Pools = list[tuple["SimulatedCloud", "ScaledPool"]]


class _Memory(Struct, kw_only=True):
    """State of one cluster between scans; times are the event loop's."""

    next_scan: float = 0.0
    upcoming: dict[str, tuple[Template, float]] = field(default_factory=dict[str, "tuple[Template, float]"])
    idle_since: dict[str, float] = field(default_factory=dict[str, float])
    refused: dict[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])
    reported: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])


class _Decision(Struct, frozen=True, kw_only=True):
    """Pods that no pool takes with the reasons, and the first pod that needs a node with its pools."""

    needed: set[str]
    without: list[tuple[Object, str]]
    pod: Object | None = None
    pools: Sequence[str] = ()


class Autoscaler:
    """Scales the pools of all simulated clouds.

    Attributes:
        added: Names of the nodes that it added.
    """

    def __init__(self, simulator: Simulator, clouds: SimulatedClouds) -> None:
        self.added: set[str] = set()
        self._simulator = simulator
        self._clouds = clouds
        self._memories: defaultdict[str, _Memory] = defaultdict(_Memory)
        self._scans: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Scan all clusters until cancelled."""
        try:
            while True:
                await asyncio.sleep(SCAN_SECONDS)
                for cluster, pools in self._pools().items():
                    if cluster not in self._scans or self._scans[cluster].done():
                        scan = self._scan(cluster, pools)
                        self._scans[cluster] = asyncio.create_task(scan, name=f"{cluster}/autoscaler")
        finally:
            await cancel(self._scans.values())

    def _pools(self) -> Mapping[str, Pools]:
        found: defaultdict[str, Pools] = defaultdict(list)
        try:
            for cloud in self._clouds.all():
                for pool in cloud.scaled_pools():
                    found[pool.cluster].append((cloud, pool))
        except SimulatorError as error:  # such as a pool whose cluster is being deleted
            logger.info("autoscaler: %s", error)
        return found

    async def _scan(self, name: str, pools: Pools) -> None:
        memory, began = self._memories[name], asyncio.get_running_loop().time()
        if began < memory.next_scan:
            return
        try:
            cluster = self._simulator.get(name)
            if cluster.state == "ready":
                async with cluster.plane.connect() as api:
                    await self._scale(api, pools, memory)
        except (ApiError, httpx2.TransportError, SimulatorError) as error:
            logger.info("%s: autoscaler: %s", name, error)
        except Exception:
            logger.exception("%s: the autoscaler failed; it scans again", name)
        taken = asyncio.get_running_loop().time() - began
        memory.next_scan = began + (1 + REST) * taken

    async def _scale(self, api: KubeApi, pools: Pools, memory: _Memory) -> None:
        unbound = await api.list("v1", "Pod", params={"fieldSelector": "spec.nodeName="})
        rejected = [pod for pod in unbound["items"] if _is_rejected(pod)]
        queued = [(cloud, pool) for cloud, pool in pools if pool.queued]
        is_larger = any(len(pool.machines) > pool.least for _, pool in pools)
        if not (rejected or memory.upcoming or is_larger or queued):
            return
        state = await read_state(api, requested={})
        _forget_published(state, memory)
        growing = [(cloud, pool) for cloud, pool in pools if not pool.queued]
        needed = await self._grow(api, state, growing, rejected, memory)
        if queued and await serve_requests(api, state, queued):
            needed |= {machine.name for _, pool in queued for machine in pool.machines.values()}
        await self._shrink(api, state, pools, needed, memory)

    async def _grow(
        self, api: KubeApi, state: ClusterState, pools: Pools, rejected: list[Object], memory: _Memory
    ) -> set[str]:
        """Add at most one node; return the nodes that rejected pods will use."""
        if not rejected:
            return set()
        templates = {pool.name: template_of(state, pool, memory.upcoming) for _, pool in pools}
        upcoming = {name: template for name, (template, _) in memory.upcoming.items()}
        closed = {pool.name: why for _, pool in pools if (why := _why_closed(pool, memory))}
        decision = await asyncio.to_thread(_decide, state, templates, upcoming, rejected, closed)
        for pod, why in decision.without:
            await _report(api, memory, pod, "NotTriggerScaleUp", f"pod didn't trigger scale-up: {why}")
        if decision.pod is None:
            return decision.needed
        name = min(decision.pools, key=lambda one: (templates[one].devices, templates[one].free["cpu"], one))
        cloud, pool = next((cloud, pool) for cloud, pool in pools if pool.name == name)
        size = len(pool.machines)
        try:
            if await cloud.resize(pool):
                self.added.add(pool.fresh.name)
                memory.upcoming[pool.fresh.name] = (templates[name], asyncio.get_running_loop().time())
                text = f"pod triggered scale-up: [{{{name} {size}->{size + 1} (max: {pool.most})}}]"
                await _report(api, memory, decision.pod, "TriggeredScaleUp", text)
        except CloudRefusal as refusal:
            memory.refused[name] = (str(refusal), asyncio.get_running_loop().time() + BACKOFF_SECONDS)
            text = f"scale-up of pool {name} failed: {refusal}"
            await _report(api, memory, decision.pod, "FailedScaleUp", text, kind="Warning")
        return decision.needed

    async def _shrink(
        self, api: KubeApi, state: ClusterState, pools: Pools, needed: set[str], memory: _Memory
    ) -> None:
        """Taint a node that was idle long enough, and remove it if the next scan finds it idle."""
        now, busy = asyncio.get_running_loop().time(), needed | _busy(state) | memory.upcoming.keys()
        nodes = {node["metadata"]["name"]: node for node in state.nodes}
        for cloud, pool in pools:
            spare = len(pool.machines) - pool.least
            for number, machine in sorted(pool.machines.items(), reverse=True):
                node = nodes.get(machine.name)
                if node is None:
                    continue
                kept = node["metadata"].get("annotations", {}).get(KEPT) == "true"
                if spare <= 0 or kept or machine.name in busy:
                    memory.idle_since.pop(machine.name, None)
                    await _mark(api, node, leaving=False)
                    continue
                spare -= 1
                is_due = now - memory.idle_since.setdefault(machine.name, now) >= IDLE_SECONDS
                if is_due and await _mark(api, node, leaving=True) and await cloud.resize(pool, number):
                    logger.info("autoscaler: removed idle node %s of pool %s", machine.name, pool.name)
                    del memory.idle_since[machine.name]
                    self.added.discard(machine.name)


def _decide(
    state: ClusterState,
    templates: Mapping[str, Template],
    upcoming: Mapping[str, Template],
    rejected: Sequence[Object],
    closed: Mapping[str, str],
) -> _Decision:
    packing = Packing(state, templates, upcoming)
    needed: set[str] = set()
    without: list[tuple[Object, str]] = []
    for pod in rejected:
        node = packing.place(pod)
        if node is not None:
            needed.add(node)
            continue
        reasons = {pool: closed.get(pool) or packing.why_not_new(pod, pool) for pool in templates}
        if open_pools := [pool for pool, reason in reasons.items() if not reason]:
            return _Decision(needed=needed, without=without, pod=pod, pools=open_pools)
        without.append((pod, "; ".join(f"pool {pool}: {reason}" for pool, reason in reasons.items())))
    return _Decision(needed=needed, without=without)


def _is_rejected(pod: Object) -> bool:
    conditions: list[Object] = pod.get("status", {}).get("conditions", [])
    return "deletionTimestamp" not in pod["metadata"] and any(
        item["type"] == "PodScheduled" and item.get("reason") == "Unschedulable" for item in conditions
    )


def _why_closed(pool: ScaledPool, memory: _Memory) -> str:
    if len(pool.machines) >= pool.most:
        return f"max node group size reached ({pool.most})"
    text, until = memory.refused.get(pool.name, ("", 0.0))
    is_waiting = asyncio.get_running_loop().time() < until
    return f"in backoff after failed scale-up: {text}" if is_waiting else ""


def _forget_published(state: ClusterState, memory: _Memory) -> None:
    """Forget upcoming nodes that publish all expected devices, or whose time is up."""
    now = asyncio.get_running_loop().time()
    published = [device.node for device in devices_in(state.slices)]
    for name, (template, since) in list(memory.upcoming.items()):
        if published.count(name) >= template.devices or now - since > UPCOMING_SECONDS:
            del memory.upcoming[name]


def _busy(state: ClusterState) -> set[str]:
    """Return the nodes with a pod that no DaemonSet created, or with an allocated device."""
    node_of = {(device.driver, device.pool): device.node for device in devices_in(state.slices)}
    results = [result for claim in state.claims for result in results_of(claim)]
    with_devices = {node_of.get((result["driver"], result["pool"])) or "" for result in results}
    with_pods = {
        pod["spec"].get("nodeName", "") for pod in state.pods if not is_daemon(pod) and not has_ended(pod)
    }
    return with_devices | with_pods


async def _mark(api: KubeApi, node: Object, *, leaving: bool) -> bool:
    """Set or remove the taint of a node that is removed soon; return whether nothing had to be changed."""
    taints: list[Object] = node["spec"].get("taints", [])
    others = [taint for taint in taints if taint["key"] != LEAVING]
    if leaving == (len(others) < len(taints)):
        return True
    taint = {"key": LEAVING, "value": str(int(time.time())), "effect": "NoSchedule"}
    patch = {"spec": {"taints": [*others, taint] if leaving else others}}
    await api.merge("v1", "Node", node["metadata"]["name"], patch)
    return False


async def _report(
    api: KubeApi, memory: _Memory, pod: Object, reason: str, message: str, *, kind: str = "Normal"
) -> None:
    """Write an event about a pod, as often as its message changes."""
    meta = pod["metadata"]
    if (key := (str(meta["uid"]), reason, message)) not in memory.reported:
        memory.reported.add(key)
        name = f"{meta['name']}.{time.time_ns():x}"
        await api.create(event_of(pod, name, reason, message[:LONGEST_MESSAGE], source=SOURCE, kind=kind))
