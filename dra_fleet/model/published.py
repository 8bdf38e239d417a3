"""Devices as DRA drivers publish them, and their division into ResourceSlices. Pure values, no cluster.

Rules: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-slice-v1/
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_DEVICES = 128
"""Devices in one slice; a driver with more publishes several."""
MAX_WITH_COUNTERS = 64
"""The same where one of them consumes counters."""

AttributeValue = str | int | bool
Object = dict[str, Any]

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
PCI_BUS_ID = "resource.kubernetes.io/pciBusID"
NUMA_NODE = "resource.kubernetes.io/numaNode"


@dataclass(frozen=True)
class VersionAttribute:
    """A semantic version attribute, such as 580.126.9."""

    text: str


@dataclass(frozen=True, kw_only=True)
class PublishedDevice:
    """One device of a slice.

    Args:
        name: DNS label, unique in its pool.
        attributes: by qualified name; a bare name belongs to the driver's domain.
        capacity: quantities by qualified name.
        assumed: the attributes and capacities whose values no public source says. A rehearsal publishes
            them all the same; a proof must take them for unknown.
        others: by capacity the values that it has under other branches of the host's driver.
        policies: how claims may take parts of a capacity, by its name.
        more: further fields of the device, such as the counters that it consumes.
    """

    name: str
    attributes: Mapping[str, AttributeValue | VersionAttribute]
    capacity: Mapping[str, str] = field(default_factory=dict[str, str])
    assumed: frozenset[str] = frozenset()
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    policies: Mapping[str, Object] = field(default_factory=dict[str, Object])
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def to_object(self) -> Object:
        """The resource.k8s.io/v1 JSON."""
        body: Object = {
            "name": self.name,
            "attributes": {key: _attribute(value) for key, value in sorted(self.attributes.items())},
        }
        if self.capacity:
            body["capacity"] = {
                key: {
                    "value": value,
                    **({"requestPolicy": self.policies[key]} if key in self.policies else {}),
                }
                for key, value in sorted(self.capacity.items())
            }
        return {**body, **self.more}


def _attribute(value: AttributeValue | VersionAttribute) -> Object:
    match value:
        case VersionAttribute(text=text):
            return {"version": text}
        case bool():
            return {"bool": value}
        case int():
            return {"int": value}
        case str():
            return {"string": value}


def slice_specs(
    driver: str, node: str, devices: list[Object], generation: int, counters: Sequence[Object] = ()
) -> list[Object]:
    """The specs of the slices of one node-local pool; one empty slice when there are no devices.

    Counters stand in a slice of their own, as Kubernetes wants them from 1.35 on.

    Args:
        driver: the driver's name.
        node: the node's name, which is the pool's name too.
        devices: resource.k8s.io/v1 device objects.
        generation: the pool's generation.
        counters: what devices of the pool share.
    """
    shares = any(device.get("consumesCounters") for device in devices)
    most = MAX_WITH_COUNTERS if shares else MAX_DEVICES
    starts = range(0, len(devices), most)
    parts: list[Object] = [{"devices": devices[start : start + most]} for start in starts]
    parts = [*([{"sharedCounters": list(counters)}] if counters else []), *parts] or [{"devices": []}]
    return [
        {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": generation, "resourceSliceCount": len(parts)},
            **part,
        }
        for part in parts
    ]


def mebibytes(count: int) -> str:
    """A quantity in the API's canonical form: 4864 -> "4864Mi", 40960 -> "40Gi"."""
    return f"{count}Mi" if count % 1024 else f"{count // 1024}Gi"


def stable_uuid(*parts: str | int) -> str:
    """A lower-case UUID that depends on nothing but its arguments."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))
