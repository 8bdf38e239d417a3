"""Nodes and slices as a cluster showed them, which win over predictions.

They come from `kubectl get nodes,resourceslices -o json`. Nodes beyond those that were recorded are taken to
be like them. Slices that serve several nodes are refused.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from fleet.devices.resource_slice import ResourceSliceSpec
from fleet.plan.model import Taint
from fleet.proof.errors import RecordingInvalid
from fleet.proof.shapes import MOST_PODS, NodeGroup, Object, Origin, Room, Shape, ShapeDevice
from fleet.proof.slices import rooms_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.plan.model import ClusterPlan, FleetPlan, PoolPlan

MOST_BYTES = 50_000_000
_RECORD = "record it with `kubectl get nodes,resourceslices -o json`"


@dataclass(frozen=True, eq=False, kw_only=True)
class _RecordedNode:
    name: str
    devices: tuple[ShapeDevice, ...]
    node: Object | None


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
        found[name] = recorded_groups(clusters[name], _read(Path(file)), file)
    return found


def recorded_groups(cluster: ClusterPlan, items: Sequence[Object], origin: str) -> tuple[NodeGroup, ...]:
    """The groups of alike nodes of a cluster.

    Args:
        cluster: The plan, which tells the pools and how many nodes each has.
        items: Nodes and ResourceSlices.
        origin: The file, for messages.

    Raises:
        RecordingInvalid: It cannot be told which pool a node belongs to, or a slice is not bound to one node.
    """
    by_pool: dict[str, list[_RecordedNode]] = defaultdict(list)
    for node in _nodes(items, origin):
        pool = _pool_of(cluster, node, origin)
        if pool is not None:
            by_pool[pool.name].append(node)
    groups: list[NodeGroup] = []
    for pool in cluster.pools:
        nodes = by_pool[pool.name]
        if not nodes:
            raise RecordingInvalid(
                f"{origin} holds no node of pool {pool.name} of cluster {cluster.name} "
                f"({_labels(pool)}); {_RECORD} while it has one"
            )
        groups += _groups_of(pool, nodes)
    return tuple(groups)


def _read(path: Path) -> list[Object]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise RecordingInvalid(f"{path} has more than {MOST_BYTES} bytes; {_RECORD}")
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordingInvalid(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise RecordingInvalid(f"{path} is no JSON: {error}; {_RECORD}") from error
    items: Any = cast("Object", content).get("items") if isinstance(content, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in cast("list[Any]", items)):
        raise RecordingInvalid(f"{path} is no list of objects; {_RECORD}")
    return cast("list[Object]", items)


def _nodes(items: Sequence[Object], origin: str) -> list[_RecordedNode]:
    objects = {
        str(item["metadata"]["name"]): item
        for item in items
        if item.get("kind") == "Node" and isinstance(item.get("metadata"), dict)
    }
    newest: dict[tuple[str, str], int] = {}
    slices = [item for item in items if item.get("kind") == "ResourceSlice"]
    for item in slices:
        _check(item, origin)
        key = (item["spec"]["driver"], item["spec"]["pool"]["name"])
        newest[key] = max(newest.get(key, 0), item["spec"]["pool"].get("generation", 0))
    devices: dict[str, list[ShapeDevice]] = defaultdict(list)
    for item in slices:
        spec = item["spec"]
        if spec["pool"].get("generation", 0) == newest[spec["driver"], spec["pool"]["name"]]:
            devices[spec["nodeName"]] += [_device(spec["driver"], body) for body in spec.get("devices", [])]
    if not slices:
        raise RecordingInvalid(f"{origin} holds no ResourceSlice; {_RECORD}")
    return [
        _RecordedNode(name=name, devices=tuple(devices[name]), node=objects.get(name))
        for name in sorted({*devices, *objects})
    ]


def _check(item: Object, origin: str) -> None:
    name = item.get("metadata", {}).get("name", "?")
    try:
        spec = ResourceSliceSpec.from_object(item.get("spec", {}), as_server=True)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RecordingInvalid(
            f"{origin}: ResourceSlice {name} is wrong at {place}: {first['msg']}"
        ) from None
    written = spec.to_object()
    if not written.get("nodeName") or written.get("sharedCounters"):
        raise RecordingInvalid(
            f"{origin}: ResourceSlice {name} serves several nodes or shares counters between slices, which "
            "this proof does not judge; leave its driver's slices out of the file"
        )


def _device(driver: str, body: Object) -> ShapeDevice:
    origins: dict[str, Origin] = dict.fromkeys(
        (*body.get("attributes", {}), *body.get("capacity", {})), "recorded"
    )
    full = {**body, "attributes": body.get("attributes", {})}
    return ShapeDevice(driver=driver, name=body["name"], seen=full, placed=full, origins=origins)


def _pool_of(cluster: ClusterPlan, node: _RecordedNode, origin: str) -> PoolPlan | None:
    """The pool of a node by its labels, None if it belongs to none; without labels only one can be meant."""
    if node.node is not None:
        labels = node.node["metadata"].get("labels", {})
        fitting = [pool for pool in cluster.pools if pool.labels.items() <= labels.items()]
        return fitting[0] if fitting else None
    if len(cluster.pools) == 1:
        return cluster.pools[0]
    raise RecordingInvalid(
        f"{origin} does not tell which of the {len(cluster.pools)} pools of cluster {cluster.name} node "
        f"{node.name} belongs to, for the node's labels are not in it; {_RECORD}"
    )


def _groups_of(pool: PoolPlan, nodes: Sequence[_RecordedNode]) -> list[NodeGroup]:
    """Alike nodes together. Recorded nodes come first; those beyond are spread over the sorts in turn."""
    sorts: dict[str, tuple[Shape, int]] = {}
    for node in nodes:
        shape = _shape(pool, node)
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


def _shape(pool: PoolPlan, node: _RecordedNode) -> Shape:
    most, sure = rooms_of(pool.machine)
    labels, taints = dict(pool.labels), pool.taints
    if node.node is not None:
        labels = dict(node.node["metadata"].get("labels", {}))
        taints = tuple(
            Taint(key=item["key"], value=item.get("value", ""), effect=item["effect"])
            for item in node.node.get("spec", {}).get("taints", [])
        )
        room = node.node.get("status", {}).get("allocatable", {})
        if {"cpu", "memory"} <= set(room):
            most = Room.of(str(room["cpu"]), str(room["memory"]), int(room.get("pods", MOST_PODS)))
            sure = Room(
                most.cpu - most.cpu // 10, most.memory - most.memory // 10, most.pods - most.pods // 10
            )
    return Shape(
        labels=labels,
        knows_labels=node.node is not None,
        taints=taints,
        room=most,
        sure_room=sure,
        devices=node.devices,
        unpredictable={},
    )


def _likeness(shape: Shape) -> str:
    """Equal for nodes that differ in nothing but the names of devices' ids and of what they share."""
    ids: dict[str, int] = {}
    devices = [(device.driver, device.name, _renamed(device.seen, ids)) for device in shape.devices]
    own = {key: value for key, value in shape.labels.items() if key != "kubernetes.io/hostname"}
    return repr((sorted(own.items()), shape.taints, shape.room, devices))


def _renamed(body: Object, ids: dict[str, int]) -> str:
    attributes = {
        name: ids.setdefault(str(value), len(ids)) if name in _IDS else value
        for name, value in sorted(body["attributes"].items())
    }
    return json.dumps({**body, "attributes": attributes}, sort_keys=True)


_IDS = ("uuid", "parentUUID", "resource.kubernetes.io/pciBusID", "resource.kubernetes.io/pcieRoot")


def _labels(pool: PoolPlan) -> str:
    return ", ".join(f"{key}={value}" for key, value in pool.labels.items())
