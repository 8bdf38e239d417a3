"""Nodes and slices as a cluster showed them, which win over predictions.

They come from `kubectl get nodes,resourceslices -o json`. Nodes beyond those that were recorded are taken to
be like them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dra_fleet.core.findings.errors import message_of
from dra_fleet.core.yaml_text import Unreadable, read_json_file
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.kubernetes.devices.resource_slice import ResourceSliceSpec
from dra_fleet.kubernetes.minors import PARTITIONS, is_on, on_from
from dra_fleet.kubernetes.scheduling.taints import Effect, Taint
from dra_fleet.model.nodes import (
    MOST_PODS,
    ComputeResources,
    NodeDevice,
    NodeGroup,
    NodeShape,
    Object,
    Origin,
)
from dra_fleet.proof.report import RecordingInvalid
from dra_fleet.proof.supply.prediction import in_order, resources_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.plan import ClusterPlan, FleetPlan, PoolPlan


# Content of a recording of a cluster: its nodes, each with the devices and counters of its newest slices.
#
# A recording is what `kubectl get nodes,resourceslices -o json` prints. What slices that serve several nodes
# offer is left open.

RECORD = "record it with `kubectl get nodes,resourceslices -o json`"


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


class RecordedTaint(_Part):
    """A taint of a node."""

    key: str
    value: str = ""
    effect: Effect


class _Metadata(_Part):
    name: str
    labels: dict[str, str] = Field(default_factory=dict)


class _Spec(_Part):
    taints: list[RecordedTaint] = Field(default_factory=list[RecordedTaint])


class _Status(_Part):
    allocatable: dict[str, str] = Field(default_factory=dict)


class NodeObject(_Part):
    """A Node, as far as the proof looks at it."""

    metadata: _Metadata
    spec: _Spec = Field(default_factory=_Spec)
    status: _Status = Field(default_factory=_Status)


class RecordedNode(Struct, frozen=True, kw_only=True, eq=False):
    """A node with what its drivers publish.

    Attributes:
        name: The node.
        devices: All devices; those of one slice are of one group.
        counters: By driver the counter sets that its devices share.
        node: The Node itself, None where only slices were recorded.
        left_open: Why it is unknown what a driver offers the node, by driver.
    """

    name: str
    devices: tuple[NodeDevice, ...]
    counters: Mapping[str, tuple[Object, ...]]
    node: NodeObject | None
    left_open: Mapping[str, str] = field(default_factory=dict[str, str])


_EARLY = (
    "devices of driver {driver} share counters, which Kubernetes {minor} keeps only with the alpha feature "
    "gate DRAPartitionableDevices, and how that alpha counts them is not proved; use Kubernetes {since} or "
    "later, which counts them as it should"
)


def read_recordings(plan: FleetPlan, given: Sequence[str]) -> Mapping[str, Sequence[NodeGroup]]:
    """Read the recorded nodes of clusters.

    Args:
        plan: The plan whose clusters they are.
        given: `CLUSTER=FILE` each; the cluster may be omitted where there is only one.

    Raises:
        RecordingInvalid: A file cannot be read, or does not report which pool its nodes belong to.
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
    """Group the equal nodes of a cluster.

    Args:
        cluster: The plan, which reports the pools and how many nodes each has.
        items: Nodes and ResourceSlices.
        origin: The file, for messages.

    Raises:
        RecordingInvalid: It is unknown which pool a node belongs to.
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
                f"{origin} contains no node of pool {pool.name} of cluster {cluster.name} "
                f"({_labels(pool)}); {RECORD} while it has one"
            )
        groups += _groups_of(pool, nodes, cluster.kubernetes)
    return tuple(groups)


def _pool_of(cluster: ClusterPlan, node: RecordedNode, origin: str) -> PoolPlan | None:
    if node.node is not None:
        labels = node.node.metadata.labels
        fitting = [pool for pool in cluster.pools if pool.labels.items() <= labels.items()]
        return fitting[0] if fitting else None
    if len(cluster.pools) == 1:
        return cluster.pools[0]
    raise RecordingInvalid(
        f"{origin} does not report which of the {len(cluster.pools)} pools of cluster {cluster.name} node "
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
    """Return a node's resources for pods; other system pods keep 10 % at most."""
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


def read_items(path: Path) -> list[Object]:
    """Read the objects of a recording.

    Args:
        path: The file.

    Raises:
        RecordingInvalid: It cannot be read, is too large, or is not a list of objects.
    """
    try:
        content = read_json_file(path)
    except OSError as error:
        raise RecordingInvalid(f"{path} cannot be read: {error.strerror or error}") from error
    except Unreadable as problem:
        raise RecordingInvalid(f"{path} {problem}; {RECORD}") from None
    items: Any = cast("Object", content).get("items") if isinstance(content, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in cast("list[Any]", items)):
        raise RecordingInvalid(f"{path} is not a list of objects; {RECORD}")
    return cast("list[Object]", items)


def recorded_nodes(items: Sequence[Object], origin: str) -> list[RecordedNode]:
    """Return the nodes of a recording, by name.

    Args:
        items: Nodes and ResourceSlices; other objects are skipped.
        origin: The file, for messages.

    Raises:
        RecordingInvalid: There is no slice, or one is wrong or missing.
    """
    nodes = [_node(item, origin) for item in items if item.get("kind") == "Node"]
    slices = [(_name(item), _slice(item, origin)) for item in items if item.get("kind") == "ResourceSlice"]
    if not slices:
        raise RecordingInvalid(f"{origin} contains no ResourceSlice; {RECORD}")
    left_open = {spec["driver"]: _left_open(spec, name) for name, spec in slices if not spec.get("nodeName")}
    devices: dict[str, list[NodeDevice]] = defaultdict(list)
    counters: dict[str, dict[str, list[Object]]] = defaultdict(lambda: defaultdict(list))
    bound = [spec for _, spec in slices if spec.get("nodeName")]
    for number, spec in enumerate(_newest(bound, origin)):
        node, driver = str(spec["nodeName"]), str(spec["driver"])
        devices[node] += [_device(driver, body, f"{number:06}") for body in spec.get("devices", [])]
        if spec.get("sharedCounters"):
            counters[node][driver] += spec["sharedCounters"]
    objects = {item.metadata.name: item for item in nodes}
    return [
        RecordedNode(
            name=name,
            devices=tuple(devices[name]),
            counters={driver: tuple(sets) for driver, sets in counters[name].items()},
            node=objects.get(name),
            left_open=left_open,
        )
        for name in sorted({*devices, *objects})
    ]


def _node(item: Object, origin: str) -> NodeObject:
    try:
        node = NodeObject.model_validate(item)
        for name in {"cpu", "memory", "pods"} & set(node.status.allocatable):
            Quantity.parse(node.status.allocatable[name])
    except ValidationError as invalid:
        raise RecordingInvalid(f"{origin}: Node {_name(item)} is wrong at {_first(invalid)}") from None
    except ValueError as problem:
        raise RecordingInvalid(f"{origin}: Node {_name(item)} is wrong at status: {problem}") from None
    return node


def _slice(item: Object, origin: str) -> Object:
    if not isinstance(item.get("spec", {}), dict):
        raise RecordingInvalid(
            f"{origin}: ResourceSlice {_name(item)} is wrong at spec: it must be an object"
        )
    try:
        spec: Object = {}
        for part in _parts(item.get("spec", {})):
            spec |= ResourceSliceSpec.from_object(part, as_server=True).to_object()
    except ValidationError as invalid:
        raise RecordingInvalid(
            f"{origin}: ResourceSlice {_name(item)} is wrong at {_first(invalid)}"
        ) from None
    return spec


def _left_open(spec: Object, name: str) -> str:
    """Return why the offer of a slice that serves several nodes is unknown for one node."""
    by = next(key for key in ("nodeSelector", "allNodes", "perDeviceNodeSelection") if spec.get(key))
    return (
        f"ResourceSlice {name} of driver {spec['driver']} serves several nodes ({by}): what is left of it "
        "for a pod depends on the pods of all of them, while this proof checks each node by itself"
    )


def _parts(spec: Any) -> list[Any]:  # noqa: ANN401 - any JSON
    """Split a slice as later servers require it: in 1.34 devices and shared counters may be in one slice."""
    if not isinstance(spec, dict) or not {"devices", "sharedCounters"} <= cast("Object", spec).keys():
        return [spec]
    body = cast("Object", spec)
    return [
        {key: value for key, value in body.items() if key != left} for left in ("devices", "sharedCounters")
    ]


def _name(item: Object) -> str:
    metadata = item.get("metadata")
    return str(cast("Object", metadata).get("name", "?")) if isinstance(metadata, dict) else "?"


def _first(invalid: ValidationError) -> str:
    error = invalid.errors(include_url=False)[0]
    return f"{'.'.join(str(part) for part in error['loc'])}: {message_of(error)}"


def _newest(slices: Sequence[Object], origin: str) -> list[Object]:
    pools: dict[tuple[str, str], list[Object]] = defaultdict(list)
    for spec in slices:
        pools[str(spec["driver"]), str(spec["pool"]["name"])].append(spec)
    found: list[Object] = []
    for (driver, pool), specs in pools.items():
        generation = max(int(spec["pool"].get("generation", 0)) for spec in specs)
        newest = [spec for spec in specs if int(spec["pool"].get("generation", 0)) == generation]
        requested = int(newest[0]["pool"]["resourceSliceCount"])
        if len(newest) != requested:
            raise RecordingInvalid(
                f"{origin} holds {len(newest)} of the {requested} ResourceSlices of pool {pool} of driver "
                f"{driver}; a scheduler takes no device of an incomplete pool; {RECORD} once all are there"
            )
        found += newest
    return found


def _device(driver: str, body: Object, group: str) -> NodeDevice:
    origins: dict[str, Origin] = dict.fromkeys(
        (*body.get("attributes", {}), *body.get("capacity", {})), "recorded"
    )
    full = {**body, "attributes": body.get("attributes", {})}
    return NodeDevice(driver=driver, name=body["name"], seen=full, placed=full, origins=origins, group=group)
