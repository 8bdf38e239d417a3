"""Fields that a Kubernetes minor drops silently because their feature gate is off by default there.

The API server removes such fields before it validates (registry/resource/*/strategy.go), so a claim is stored
without them and allocates something else than was asked for. Here each of them is an error with its gate.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from dra_fleet.kubernetes.devices.base import Problem, copied
from dra_fleet.kubernetes.minors import kubernetes_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

_CLAIM = (
    ("devices.requests[].firstAvailable", "DRAPrioritizedList"),
    ("devices.requests[].exactly.tolerations", "DRADeviceTaints"),
    ("devices.requests[].firstAvailable[].tolerations", "DRADeviceTaints"),
    ("devices.requests[].exactly.adminAccess", "DRAAdminAccess"),
    ("devices.requests[].exactly.capacity", "DRAConsumableCapacity"),
    ("devices.requests[].firstAvailable[].capacity", "DRAConsumableCapacity"),
    ("devices.constraints[].distinctAttribute", "DRAConsumableCapacity"),
    ("devices.requests[].exactly.derivedAttributes", "DRADerivedAttributes"),
    ("devices.requests[].firstAvailable[].derivedAttributes", "DRADerivedAttributes"),
)
_SLICE = (
    ("devices[].taints", "DRADeviceTaints"),
    ("sharedCounters", "DRAPartitionableDevices"),
    ("perDeviceNodeSelection", "DRAPartitionableDevices"),
    ("devices[].consumesCounters", "DRAPartitionableDevices"),
    ("devices[].nodeName", "DRAPartitionableDevices"),
    ("devices[].nodeSelector", "DRAPartitionableDevices"),
    ("devices[].allNodes", "DRAPartitionableDevices"),
    ("devices[].bindingConditions", "DRADeviceBindingConditions"),
    ("devices[].bindingFailureConditions", "DRADeviceBindingConditions"),
    ("devices[].bindsToNode", "DRADeviceBindingConditions"),
    ("devices[].allowMultipleAllocations", "DRAConsumableCapacity"),
    ("devices[].capacity[].requestPolicy", "DRAConsumableCapacity"),
    ("devices[].nodeAllocatableResourceMappings", "DRANodeAllocatableResources"),
    ("devices[].nodeAllocatableResources", "DRANodeAllocatableResources"),
    ("devices[].consumesCounters[].compatibilityGroups", "DRADeviceCompatibilityGroups"),
    ("partitionTypeAttribute", "DRAPartitionableDevicesType"),
    ("skipNodeOperations", "DRAOptionalNodeOperations"),
    ("devices[].attributes[].bools", "DRAListTypeAttributes"),
    ("devices[].attributes[].ints", "DRAListTypeAttributes"),
    ("devices[].attributes[].strings", "DRAListTypeAttributes"),
    ("devices[].attributes[].versions", "DRAListTypeAttributes"),
)
GATED_FIELDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "DeviceClass": (("spec.extendedResourceName", "DRAExtendedResource"),),
    "ResourceClaim": tuple((f"spec.{path}", gate) for path, gate in _CLAIM),
    "ResourceClaimTemplate": tuple((f"spec.spec.{path}", gate) for path, gate in _CLAIM),
    "ResourceSlice": tuple((f"spec.{path}", gate) for path, gate in _SLICE),
}
"""Per kind, the path of each gated field and its gate; `[]` stands for each item of a list or map."""
_REFUSED = ("DRAListTypeAttributes",)
"""Gates of fields that the server drops first and then misses: an attribute needs exactly one value.

Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/resource/validation/validation.go
"""
_FOLLOWED = {"DRADerivedAttributes": "field and the constraints that name its attribute"}
"""The parts to remove, by gate: without the field, no device meets these constraints."""
_Step = tuple[str, bool]
"""A key, and whether what follows it in a path is meant of each item below it."""


class Dropped(Struct, frozen=True, kw_only=True):
    """A field that the minor would not store."""

    path: str
    gate: str
    minor: str

    def problem(self) -> Problem:
        """Return the dropped field as an error, with the gate and the minor that has it on."""
        gate = kubernetes_facts().gate(self.gate)
        is_refused = self.gate in _REFUSED
        part = "attribute" if is_refused else _FOLLOWED.get(self.gate, "field")
        if gate.stages.get(self.minor) == "absent":
            first = next(minor for minor, stage in gate.stages.items() if stage != "absent")
            return Problem(
                path=self.path,
                what=f"Kubernetes {self.minor} does not have this field; it exists from {first}",
                fix=f"remove the {part}",
                server=False,
            )
        on_from = gate.on_from
        since = f"it is on from {on_from}" if on_from else "no known minor has it on by default"
        effect = (
            "refuses this attribute, whose only value is a list"
            if is_refused
            else "drops this field silently"
        )
        without = f"omit the {part}"
        return Problem(
            path=self.path,
            what=f"Kubernetes {self.minor} {effect}: feature gate {self.gate} is off there; {since}",
            fix=f"run the cluster at {on_from} or later, or {without}" if on_from else without,
            server=False,
        )


def drop_disabled(
    kind: str, value: Mapping[str, Any], minor: str
) -> tuple[dict[str, Any], tuple[Dropped, ...]]:
    """Return the object as that minor stores it, and the dropped fields."""
    stored: dict[str, Any] = copied(value)
    dropped = [
        Dropped(path=where, gate=gate, minor=minor)
        for path, gate in _disabled(kind, minor)
        for where in _remove(stored, path, "")
    ]
    return stored, tuple(dropped)


def check_minor(kind: str, value: Mapping[str, Any], minor: str) -> list[Problem]:
    """Every field of an object that the minor would silently drop, as an error."""
    return [dropped.problem() for dropped in drop_disabled(kind, value, minor)[1]]


@cache
def _disabled(kind: str, minor: str) -> tuple[tuple[tuple[_Step, ...], str], ...]:
    """Return the paths of the fields that a minor drops, and their gates."""
    kubernetes = kubernetes_facts()
    return tuple(
        (tuple((part.removesuffix("[]"), part.endswith("[]")) for part in path.split(".")), gate)
        for path, gate in GATED_FIELDS[kind]
        if not kubernetes.gate(gate).is_on(minor)
    )


def _remove(node: object, path: tuple[_Step, ...], where: str) -> list[str]:
    """Delete what the path names below `node` and return where something was lost."""
    (name, is_each), *rest = path
    if not isinstance(node, dict) or name not in node:
        return []
    fields = cast("dict[str, object]", node)
    here = f"{where}.{name}" if where else name
    if not rest:
        lost = fields.pop(name)
        return [here] if lost is not None and lost not in ([], {}) else []
    if not is_each:
        return _remove(fields[name], path[1:], here)
    found: list[str] = []
    for key, item in _items(fields[name]):
        found += _remove(item, path[1:], f"{here}[{key}]")
    return found


def _items(value: object) -> list[tuple[object, object]]:
    if isinstance(value, list):
        return list(enumerate(cast("list[object]", value)))
    if isinstance(value, dict):
        return list(cast("dict[object, object]", value).items())
    return []
