"""Sorts of devices on a node, in short words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dra_fleet.kubernetes.cel import UNKNOWN
from dra_fleet.review.model import DeviceKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.nodes import NodeDevice, NodeGroup

_WORDS = {"gpu": "GPU", "mig": "MIG", "vgpu": "vGPU", "imex-channel": "IMEX channel", "channel": "channel"}


def device_kind(device: NodeDevice) -> str:
    """A short name of what a device is: `GPU`, `MIG 1g.5gb`; its driver where its type is not known."""
    attributes = device.seen.get("attributes", {})
    kind, profile = _text(attributes, "type"), _text(attributes, "profile")
    word = _WORDS.get(kind, kind) or device.driver.partition(".")[0]
    return f"{word} {profile}" if profile else word


def device_kinds(group: NodeGroup) -> tuple[DeviceKind, ...]:
    """The devices of one node by sort, in the order in which they are published."""
    counts: Counter[str] = Counter()
    first: dict[str, NodeDevice] = {}
    for device in group.shape.devices:
        kind = device_kind(device)
        counts[kind] += 1
        first.setdefault(kind, device)
    return tuple(_kind(kind, counts[kind], device) for kind, device in first.items())


def _kind(kind: str, count: int, device: NodeDevice) -> DeviceKind:
    attributes, capacity = device.seen.get("attributes", {}), device.seen.get("capacity", {})
    processors = _amount(capacity, "multiprocessors")
    return DeviceKind(
        kind=kind,
        count=count,
        driver=device.driver,
        product=_text(attributes, "productName"),
        memory=_amount(capacity, "memory"),
        multiprocessors=int(processors) if processors.isdigit() else device.multiprocessors,
    )


def _text(attributes: Mapping[str, Any], name: str) -> str:
    value = next(iter(attributes.get(name, {}).values()), "")
    return "" if value is UNKNOWN else str(value)


def _amount(capacity: Mapping[str, Any], name: str) -> str:
    value = capacity.get(name, {}).get("value", "")
    return "" if value is UNKNOWN else str(value)


def total(kinds: Sequence[DeviceKind]) -> int:
    """How many devices a node has."""
    return sum(kind.count for kind in kinds)
