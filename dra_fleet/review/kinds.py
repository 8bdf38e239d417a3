"""Sorts of devices on a node, in short words."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.kubernetes.cel import UNKNOWN
from dra_fleet.review.model import DeviceKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.nodes import NodeDevice, NodeGroup
    from dra_fleet.review.events import EngineStep
    from dra_fleet.review.model import Change


NAMED_BY_ITSELF = ("metadata.name", "__defaults")
"""Properties that follow from others."""

_PART = re.compile(r'\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.\[\]]+)')

_WORDS = {"gpu": "GPU", "mig": "MIG", "vgpu": "vGPU", "imex-channel": "IMEX channel", "channel": "channel"}


def device_kind(device: NodeDevice) -> str:
    """Return a short name of a device's kind: `GPU`, `MIG 1g.5gb`; its driver if the type is unknown."""
    attributes = device.seen.get("attributes", {})
    kind, profile = _text(attributes, "type"), _text(attributes, "profile")
    word = _WORDS.get(kind, kind) or device.driver.partition(".")[0]
    return f"{word} {profile}" if profile else word


def device_kinds(group: NodeGroup) -> tuple[DeviceKind, ...]:
    """Return the devices of one node by kind, in the order in which they are published."""
    counts: Counter[str] = Counter()
    first: dict[str, NodeDevice] = {}
    for device in group.shape.devices:
        kind = device_kind(device)
        counts[kind] += 1
        first.setdefault(kind, device)
    return tuple(_kind(kind, counts[kind], device) for kind, device in first.items())


def _kind(kind: str, count: int, device: NodeDevice) -> DeviceKind:
    attributes, capacity = device.seen.get("attributes", {}), device.seen.get("capacity", {})
    cores = _amount(capacity, "multiprocessors")
    return DeviceKind(
        kind=kind,
        count=count,
        driver=device.driver,
        product=_text(attributes, "productName"),
        memory=_amount(capacity, "memory"),
        multiprocessors=int(cores) if cores.isdigit() else device.multiprocessors,
    )


def _text(attributes: Mapping[str, Any], name: str) -> str:
    value = next(iter(attributes.get(name, {}).values()), "")
    return "" if value is UNKNOWN else str(value)


def _amount(capacity: Mapping[str, Any], name: str) -> str:
    value = capacity.get(name, {}).get("value", "")
    return "" if value is UNKNOWN else str(value)


def total(kinds: Sequence[DeviceKind]) -> int:
    """Return the number of a node's devices."""
    return sum(kind.count for kind in kinds)


def grouped(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Merge changes of equal text on several clusters, with all their clusters, losses and steps."""
    alike: dict[tuple[str, ...], list[Change]] = {}
    for item in changes:
        alike.setdefault((item.weight, item.action, item.kind, item.text, *item.details), []).append(item)
    return tuple(found[0] if len(found) == 1 else _one(found) for found in alike.values())


def _one(found: Sequence[Change]) -> Change:
    lost = [item.lost_claims for item in found]
    return found[0].model_copy(
        update={
            "cluster": ", ".join(dict.fromkeys(item.cluster for item in found)),
            "lost_claims": None if None in lost else sum(count or 0 for count in lost),
            "lost_workloads": tuple(dict.fromkeys(name for item in found for name in item.lost_workloads)),
            "resources": tuple(step for item in found for step in item.resources),
        }
    )


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with a noun: `1 node`, `2 nodes`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def ranged(least: int, most: int, noun: str) -> str:
    """Return a range with a noun: `1 node`, `1 to 3 nodes`."""
    return counted(most, noun) if least == most else f"{least} to {counted(most, noun)}"


def short_list(names: tuple[str, ...] | list[str], most: int = 5) -> str:
    """List some names and the number of the others."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")


def value_at(value: object, path: str) -> object | None:
    """Return the value at a path; None if there is none."""
    for index, quoted, name in _PART.findall(path):
        if isinstance(value, list) and index:
            items = cast("list[object]", value)
            value = items[int(index)] if int(index) < len(items) else None
        elif isinstance(value, dict):
            value = cast("dict[str, object]", value).get(quoted.replace('\\"', '"') or name or index)
        else:
            return None
    return value


def fields_of(steps: Sequence[EngineStep]) -> list[str]:
    """Return the changing properties by their last names, in order, without the engine's own."""
    paths = dict.fromkeys(path for step in steps for path in step.diff)
    return [last_name(path) for path in paths if path not in NAMED_BY_ITSELF]


def last_name(path: str) -> str:
    """Return the last name in a path."""
    names = [quoted or name for _, quoted, name in _PART.findall(path) if quoted or name]
    return names[-1] if names else path
