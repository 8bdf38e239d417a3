"""Nodes and slices as a cluster showed them, which win over predictions.

They come from `kubectl get nodes,resourceslices -o json`. Nodes beyond those that were recorded are taken to
be like them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.kubernetes.minors import PARTITIONS, is_on, on_from
from dra_fleet.kubernetes.scheduling.taints import Taint
from dra_fleet.model.nodes import MOST_PODS, ComputeResources, NodeGroup, NodeShape, Object
from dra_fleet.proof.errors import RecordingInvalid
from dra_fleet.proof.supply.prediction import in_order, resources_of
from dra_fleet.proof.supply.recording import RECORD, read_items, recorded_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.plan import ClusterPlan, FleetPlan, PoolPlan
    from dra_fleet.proof.supply.recording import RecordedNode

_EARLY = (
    "devices of driver {driver} share counters, which Kubernetes {minor} keeps only with the alpha feature "
    "gate DRAPartitionableDevices, and how that alpha counts them is not proved; use Kubernetes {since} or "
    "later, which counts them as it should"
)


def read_recordings(plan: FleetPlan, given: Sequence[str]) -> Mapping[str, Sequence[NodeGroup]]:
    """The nodes of clusters as recorded.

    Args:
        plan: The plan whose clusters they are.
        given: `CLUSTER=FILE` each; the cluster may be left out where there is only one.

    Raises:
        RecordingInvalid: A file cannot be read, or does not tell which pool its nodes belong to.
    """
    found: dict[str, Sequence[NodeGroup]] = {}
    clusters = {cluster.name: cluster for cluster in plan.clusters}
    for text in given:
        name, equals, file = text.partition("=")
        if not equals:
            name, file = (next(iter(clusters)) if len(clusters) == 1 else ""), text
        if name not in clusters:
            raise RecordingInvalid(
                f"--slices {text} names no cluster of the stack; write CLUSTER=FILE with one of: "
                f"{', '.join(clusters)}"
            )
        found[name] = recorded_groups(clusters[name], read_items(Path(file)), file)
    return found


def recorded_groups(cluster: ClusterPlan, items: Sequence[Object], origin: str) -> tuple[NodeGroup, ...]:
    """The groups of alike nodes of a cluster.

    Args:
        cluster: The plan, which tells the pools and how many nodes each has.
        items: Nodes and ResourceSlices.
        origin: The file, for messages.

    Raises:
        RecordingInvalid: It cannot be told which pool a node belongs to.
    """
    by_pool: dict[str, list[RecordedNode]] = defaultdict(list)
    for node in recorded_nodes(items, origin):
        pool = _pool_of(cluster, node, origin)
        if pool is not None:
            by_pool[pool.name].append(node)
    groups: list[NodeGroup] = []
    for pool in cluster.pools:
        nodes = by_pool[pool.name]
        if not nodes:
            raise RecordingInvalid(
                f"{origin} holds no node of pool {pool.name} of cluster {cluster.name} "
                f"({_labels(pool)}); {RECORD} while it has one"
            )
        groups += _groups_of(pool, nodes, cluster.kubernetes)
    return tuple(groups)


def _pool_of(cluster: ClusterPlan, node: RecordedNode, origin: str) -> PoolPlan | None:
    """The pool of a node by its labels, None if it belongs to none; without labels only one can be meant."""
    if node.node is not None:
        labels = node.node.metadata.labels
        fitting = [pool for pool in cluster.pools if pool.labels.items() <= labels.items()]
        return fitting[0] if fitting else None
    if len(cluster.pools) == 1:
        return cluster.pools[0]
    raise RecordingInvalid(
        f"{origin} does not tell which of the {len(cluster.pools)} pools of cluster {cluster.name} node "
        f"{node.name} belongs to, for the node's labels are not in it; {RECORD}"
    )


def _groups_of(pool: PoolPlan, nodes: Sequence[RecordedNode], minor: str) -> list[NodeGroup]:
    """Alike nodes together. Recorded nodes come first; those beyond are spread over the sorts in turn."""
    sorts: dict[str, tuple[NodeShape, int]] = {}
    for node in nodes:
        shape = _shape(pool, node, minor)
        key = _likeness(shape)
        known = sorts.get(key)
        sorts[key] = (known[0] if known else shape, (known[1] if known else 0) + 1)
    shapes = list(sorts.values())
    least = _spread(pool.min_nodes, [count for _, count in shapes])
    most = _spread(pool.max_nodes, [count for _, count in shapes])
    return [
        NodeGroup(pool=pool.name, shape=shape, least=least[number], most=most[number])
        for number, (shape, _) in enumerate(shapes)
    ]


def _spread(total: int, recorded: Sequence[int]) -> list[int]:
    counts = [0] * len(recorded)
    for number in range(total):
        open_sorts = [index for index, count in enumerate(counts) if count < recorded[index]]
        counts[open_sorts[0] if open_sorts else number % len(recorded)] += 1
    return counts


def _shape(pool: PoolPlan, node: RecordedNode, minor: str) -> NodeShape:
    most, sure = resources_of(pool.machine)
    labels, taints = dict(pool.labels), pool.taints
    if node.node is not None:
        labels = node.node.metadata.labels
        taints = tuple(
            Taint(key=item.key, value=item.value, effect=item.effect) for item in node.node.spec.taints
        )
        most, sure = _resources(node.node.status.allocatable, (most, sure))
    early: dict[str, str] = {}
    if not is_on(PARTITIONS, minor):
        since = on_from(PARTITIONS)
        early = {key: _EARLY.format(driver=key, minor=minor, since=since) for key in node.counters}
    return NodeShape(
        labels=labels,
        knows_labels=node.node is not None,
        taints=taints,
        resources=most,
        sure_resources=sure,
        devices=node.devices,
        unpredictable={**early, **node.left_open},
        counters=node.counters,
        in_order=in_order(node.devices, node.counters),
    )


def _resources(
    allocatable: Mapping[str, str], otherwise: tuple[ComputeResources, ComputeResources]
) -> tuple[ComputeResources, ComputeResources]:
    """What is left to pods of what a node says it has; other pods of the system keep a tenth at most."""
    if not {"cpu", "memory"} <= set(allocatable):
        return otherwise
    pods = int(Quantity.parse(allocatable.get("pods", str(MOST_PODS))).amount)
    most = ComputeResources.of(allocatable["cpu"], allocatable["memory"], pods)
    return most, ComputeResources(
        most.cpu - most.cpu // 10, most.memory - most.memory // 10, most.pods - most.pods // 10
    )


def _likeness(shape: NodeShape) -> str:
    """Equal for nodes that differ in nothing but the names of devices' ids and of what they share."""
    ids: dict[str, int] = {}
    devices = [(device.driver, device.name, _renamed(device.seen, ids)) for device in shape.devices]
    own = {key: value for key, value in shape.labels.items() if key != "kubernetes.io/hostname"}
    shared = json.dumps({driver: list(sets) for driver, sets in shape.counters.items()}, sort_keys=True)
    return repr((sorted(own.items()), shape.taints, shape.resources, devices, shared))


def _renamed(body: Object, ids: dict[str, int]) -> str:
    attributes = {
        name: ids.setdefault(str(value), len(ids)) if name in _IDS else value
        for name, value in sorted(body["attributes"].items())
    }
    return json.dumps({**body, "attributes": attributes}, sort_keys=True)


_IDS = ("uuid", "parentUUID", "resource.kubernetes.io/pciBusID", "resource.kubernetes.io/pcieRoot")


def _labels(pool: PoolPlan) -> str:
    return ", ".join(f"{key}={value}" for key, value in pool.labels.items())
