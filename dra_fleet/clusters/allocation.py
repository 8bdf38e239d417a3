"""Allocated pods, nodes and devices of a cluster's workloads, and the devices of its pools."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct
from typing_extensions import TypedDict

from dra_fleet import drivers
from dra_fleet.clusters.client import carries
from dra_fleet.clusters.pending import Cause, explain, explain_missing_pods, explain_queued
from dra_fleet.clusters.pending.state import claim_names, devices_in, results_of
from dra_fleet.model.specs import WORKLOAD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.clusters.pending import ClusterState, WaitingReason
    from dra_fleet.clusters.pending.state import LocatedDevice


class OtherPodJson(TypedDict):
    """A running pod of no declared workload, what it belongs to, and the devices it holds."""

    name: str
    namespace: str
    owner: str
    node: str
    devices: list[str]


class OtherPod(Struct, frozen=True, kw_only=True):
    """A running pod of no declared workload that holds devices.

    `owner`: what it belongs to, such as a Deployment; empty for a separate pod. `devices`: by name, or by
    number and resource where a device plugin gave them.
    """

    name: str
    namespace: str
    owner: str
    node: str
    devices: tuple[str, ...]

    @classmethod
    def of(cls, pod: Object, devices: tuple[str, ...]) -> OtherPod:
        """Build the entry of a pod with its allocated devices."""
        meta = pod["metadata"]
        template = meta.get("labels", {}).get("pod-template-hash")
        owner = next((str(item["name"]) for item in meta.get("ownerReferences", ())), "")
        return cls(
            name=meta["name"],
            namespace=meta["namespace"],
            owner=owner.removesuffix(f"-{template}") if template else owner,
            node=pod["spec"].get("nodeName", ""),
            devices=devices,
        )

    def to_json(self) -> OtherPodJson:
        return {
            "name": self.name,
            "namespace": self.namespace,
            "owner": self.owner,
            "node": self.node,
            "devices": list(self.devices),
        }


class HeldDevice(Struct, frozen=True):
    """A device as an allocation result names it."""

    driver: str
    pool: str
    device: str


class PodDevices(Struct, frozen=True, kw_only=True):
    """A pod of a workload. It is allocated when it runs and all its claims have devices."""

    name: str
    node: str | None
    devices: tuple[HeldDevice, ...]
    running: bool


class WorkloadAllocation(Struct, frozen=True, kw_only=True):
    """A workload: its requested copies, its pods, and the reason why the first waiting pod waits."""

    name: str
    namespace: str
    requested: int
    pods: tuple[PodDevices, ...]
    reason: WaitingReason | None

    @property
    def allocated(self) -> int:
        """Copies that hold devices and run at this moment."""
        return sum(pod.running and bool(pod.devices) for pod in self.pods)


class PoolDevices(Struct, frozen=True):
    """Devices of a pool: published devices, devices in use, the claims that use them, its nodes."""

    nodes: int
    devices: int
    held: int
    claims: int
    node_names: tuple[str, ...] = ()


class ClusterAllocation(Struct, frozen=True, kw_only=True):
    """All of a cluster at one moment."""

    pools: Mapping[str, PoolDevices]
    workloads: Mapping[str, WorkloadAllocation]
    others: tuple[OtherPod, ...] = ()

    @property
    def complete(self) -> bool:
        """True if every requested copy of every workload has its devices."""
        return not self.waiting

    @property
    def waiting(self) -> frozenset[str]:
        """The workloads of which some copy holds no devices."""
        return frozenset(name for name, item in self.workloads.items() if item.allocated < item.requested)

    @property
    def queued(self) -> frozenset[str]:
        """Workloads that a queue does not start."""
        return frozenset(
            name
            for name in self.waiting
            if (reason := self.workloads[name].reason) and reason.cause is Cause.QUEUED
        )


def allocation_of(
    state: ClusterState,
    *,
    pools: Mapping[str, Mapping[str, str]],
    workloads: Mapping[str, tuple[str, int]],
    queues: Mapping[str, str] | None = None,
    explained: bool = True,
) -> ClusterAllocation:
    """Evaluate a snapshot for every workload and pool.

    Args:
        state: the snapshot.
        pools: by name, the labels that select the pool's nodes.
        workloads: by name, the namespace and the requested copies.
        queues: the queue of each workload that is in one.
        explained: whether it is reported why a pod waits, for which the snapshot must hold the causes.
    """
    devices: defaultdict[str | None, list[LocatedDevice]] = defaultdict(list)
    for device in devices_in(state.slices):
        devices[device.node].append(device)
    pods: defaultdict[tuple[str, str], list[Object]] = defaultdict(list)
    for pod in state.pods:
        meta = pod["metadata"]
        if "deletionTimestamp" not in meta:
            pods[meta["namespace"], meta.get("labels", {}).get(WORKLOAD, "")].append(pod)
    holders = _holders(state.claims)
    return ClusterAllocation(
        pools={name: _pool(state.nodes, labels, devices, holders) for name, labels in pools.items()},
        workloads={
            name: _workload(
                state,
                pods[namespace, name],
                name,
                namespace,
                requested=copies,
                queue=(queues or {}).get(name),
                explained=explained,
            )
            for name, (namespace, copies) in workloads.items()
        },
        others=tuple(
            OtherPod.of(pod, names)
            for (namespace, name), found in sorted(pods.items())
            if name not in workloads or workloads[name][0] != namespace
            for pod in found
            if (seen := _pod(state, pod)).running
            and (names := tuple(device.device for device in seen.devices) or by_limits(pod))
        ),
    )


def _holders(claims: Iterable[Object]) -> Mapping[tuple[str, str], list[int]]:
    """Return by driver and pool, for each device in use, the number of its claim."""
    found: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, claim in enumerate(claims):
        for item in results_of(claim):
            found[item["driver"], item["pool"]].append(number)
    return found


def _pool(
    nodes: Iterable[Object],
    labels: Mapping[str, str],
    devices: Mapping[str | None, Sequence[LocatedDevice]],
    holders: Mapping[tuple[str, str], Sequence[int]],
) -> PoolDevices:
    names = sorted({node["metadata"]["name"] for node in nodes if carries(node, labels)})
    offered = [device for name in names for device in devices.get(name, ())]
    pools = {(device.driver, device.pool) for device in offered}
    users = [claim for pool in pools for claim in holders.get(pool, ())]
    return PoolDevices(
        nodes=len(names),
        devices=len(offered),
        held=len(users),
        claims=len(set(users)),
        node_names=tuple(names),
    )


def _workload(
    state: ClusterState,
    found: Sequence[Object],
    name: str,
    namespace: str,
    *,
    requested: int,
    queue: str | None,
    explained: bool,
) -> WorkloadAllocation:
    pods = tuple(_pod(state, pod) for pod in found)
    waiting = [pod for pod, seen in zip(found, pods, strict=True) if not seen.running]
    return WorkloadAllocation(
        name=name,
        namespace=namespace,
        requested=requested,
        pods=pods,
        reason=_reason(state, waiting, name, namespace, missing=requested - len(found), queue=queue)
        if explained
        else None,
    )


def _reason(
    state: ClusterState,
    waiting: Sequence[Object],
    name: str,
    namespace: str,
    *,
    missing: int,
    queue: str | None,
) -> WaitingReason | None:
    if waiting:
        return explain(state, waiting[0])
    if missing > 0 and queue is not None and (queued := explain_queued(state, name, namespace, queue)):
        return queued
    return explain_missing_pods(state, name, namespace) if missing > 0 else None


def _pod(state: ClusterState, pod: Object) -> PodDevices:
    namespace = pod["metadata"]["namespace"]
    results = [
        result for name in claim_names(pod) for result in results_of(state.claim(name, namespace) or {})
    ]
    return PodDevices(
        name=pod["metadata"]["name"],
        node=pod["spec"].get("nodeName"),
        devices=tuple(HeldDevice(item["driver"], item["pool"], item["device"]) for item in results),
        running=pod.get("status", {}).get("phase") == "Running",
    )


class DeviceJson(TypedDict):
    """A device as an allocation result names it."""

    driver: str
    pool: str
    device: str


class PodJson(TypedDict):
    """A pod of a workload and its devices; `node` is null while it waits for one."""

    name: str
    node: str | None
    devices: list[DeviceJson]


class WorkloadJson(TypedDict):
    """Copies that run and hold devices, copies that should, and why the first waiting one waits."""

    allocated: int
    wanted: int
    pods: list[PodJson]
    reason: str | None


class PoolJson(TypedDict):
    """Devices that the nodes of a pool publish."""

    nodes: int
    devices: int
    node_names: list[str]


class AllocationJson(TypedDict):
    """Pools and workloads of a cluster, by name, and pods of others that hold devices."""

    pools: dict[str, PoolJson]
    workloads: dict[str, WorkloadJson]
    others: list[OtherPodJson]


def allocation_json(allocation: ClusterAllocation) -> AllocationJson:
    """Return an allocation as plain data with stable keys; `review --running` reads it again."""
    return {
        "pools": {
            name: {"nodes": pool.nodes, "devices": pool.devices, "node_names": list(pool.node_names)}
            for name, pool in allocation.pools.items()
        },
        "workloads": {name: _workload_json(workload) for name, workload in allocation.workloads.items()},
        "others": [pod.to_json() for pod in allocation.others],
    }


def _workload_json(workload: WorkloadAllocation) -> WorkloadJson:
    return {
        "allocated": workload.allocated,
        "wanted": workload.requested,
        "pods": [
            {
                "name": pod.name,
                "node": pod.node,
                "devices": [
                    {"driver": item.driver, "pool": item.pool, "device": item.device} for item in pod.devices
                ],
            }
            for pod in workload.pods
        ],
        "reason": str(workload.reason) if workload.reason else None,
    }


def by_limits(pod: Object) -> tuple[str, ...]:
    """Devices of device plugins that a pod's limits request; the API reports no names of them."""
    names = {driver.extended_resource for driver in drivers.known() if driver.extended_resource}
    limits = [container.get("resources", {}).get("limits", {}) for container in pod["spec"]["containers"]]
    counts = {name: sum(int(item.get(name, "0")) for item in limits) for name in sorted(names)}
    return tuple(f"{count} x {name}" for name, count in counts.items() if count)
