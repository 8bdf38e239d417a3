"""What a recording of a cluster holds: its nodes, each with the devices and counters of its newest slices.

A recording is what `kubectl get nodes,resourceslices -o json` prints. What slices that serve several nodes
offer is left open.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dra_fleet.core.yaml_text import Unreadable, read_json_file
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.kubernetes.devices.resource_slice import ResourceSliceSpec
from dra_fleet.kubernetes.scheduling.taints import Effect
from dra_fleet.model.nodes import NodeDevice, Object, Origin
from dra_fleet.proof.errors import RecordingInvalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

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


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordedNode:
    """A node with what its drivers publish.

    Attributes:
        name: The node.
        devices: All devices; those of one slice are of one group.
        counters: By driver the counter sets that its devices share.
        node: The Node itself, None where only slices were recorded.
        left_open: Why it cannot be told what a driver offers the node, by driver.
    """

    name: str
    devices: tuple[NodeDevice, ...]
    counters: Mapping[str, tuple[Object, ...]]
    node: NodeObject | None
    left_open: Mapping[str, str] = field(default_factory=dict[str, str])


def read_items(path: Path) -> list[Object]:
    """The objects of a recording.

    Args:
        path: The file.

    Raises:
        RecordingInvalid: It cannot be read, is too large, or is no list of objects.
    """
    try:
        content = read_json_file(path)
    except OSError as error:
        raise RecordingInvalid(f"{path} cannot be read: {error.strerror or error}") from error
    except Unreadable as problem:
        raise RecordingInvalid(f"{path} {problem}; {RECORD}") from None
    items: Any = cast("Object", content).get("items") if isinstance(content, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in cast("list[Any]", items)):
        raise RecordingInvalid(f"{path} is no list of objects; {RECORD}")
    return cast("list[Object]", items)


def recorded_nodes(items: Sequence[Object], origin: str) -> list[RecordedNode]:
    """The nodes of a recording, by name.

    Args:
        items: Nodes and ResourceSlices; other objects are passed over.
        origin: The file, for messages.

    Raises:
        RecordingInvalid: There is no slice, or one is wrong or missing.
    """
    nodes = [_node(item, origin) for item in items if item.get("kind") == "Node"]
    slices = [(_name(item), _slice(item, origin)) for item in items if item.get("kind") == "ResourceSlice"]
    if not slices:
        raise RecordingInvalid(f"{origin} holds no ResourceSlice; {RECORD}")
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
    """Why it cannot be told what a slice offers a node that is not the only one it serves."""
    by = next(key for key in ("nodeSelector", "allNodes", "perDeviceNodeSelection") if spec.get(key))
    return (
        f"ResourceSlice {name} of driver {spec['driver']} serves several nodes ({by}): what is left of it "
        "for a pod depends on the pods of all of them, while this proof judges each node by itself"
    )


def _parts(spec: Any) -> list[Any]:  # noqa: ANN401 - any JSON
    """A slice as later servers take it: 1.34 let devices and the counters that they share be in one slice."""
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
    return f"{'.'.join(str(part) for part in error['loc'])}: {error['msg']}"


def _newest(slices: Sequence[Object], origin: str) -> list[Object]:
    """The slices of each pool's newest generation, in their order; the scheduler looks at no others."""
    pools: dict[tuple[str, str], list[Object]] = defaultdict(list)
    for spec in slices:
        pools[str(spec["driver"]), str(spec["pool"]["name"])].append(spec)
    found: list[Object] = []
    for (driver, pool), specs in pools.items():
        generation = max(int(spec["pool"].get("generation", 0)) for spec in specs)
        newest = [spec for spec in specs if int(spec["pool"].get("generation", 0)) == generation]
        wanted = int(newest[0]["pool"]["resourceSliceCount"])
        if len(newest) != wanted:
            raise RecordingInvalid(
                f"{origin} holds {len(newest)} of the {wanted} ResourceSlices of pool {pool} of driver "
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
