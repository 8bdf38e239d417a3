"""Builds typed device specs from settings and reports what they refuse at the settings' own paths."""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field
from pydantic import ValidationError

from dra_fleet.core.findings.errors import message_of
from dra_fleet.kubernetes.devices.base import DeviceModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.core.findings.errors import Findings


# Devices as DRA drivers publish them, and their division into ResourceSlices. Pure values, no cluster.
#
# Rules: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-slice-v1/

MAX_DEVICES = 128
"""Devices in one slice; a driver with more publishes several."""

MAX_WITH_COUNTERS = 64
"""The same where one of them consumes counters."""

AttributeValue = str | int | bool

Object = dict[str, Any]

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"

PCI_BUS_ID = "resource.kubernetes.io/pciBusID"

NUMA_NODE = "resource.kubernetes.io/numaNode"


class VersionAttribute(Struct, frozen=True):
    """A semantic version attribute, such as 580.126.9."""

    text: str


class PublishedDevice(Struct, frozen=True, kw_only=True):
    """A device of a slice.

    Args:
        name: DNS label, unique in its pool.
        attributes: by qualified name; a bare name belongs to the driver's domain.
        capacity: quantities by qualified name.
        assumed: the attributes and capacities whose values no public source says. A rehearsal publishes
            them; a proof must treat them as unknown.
        others: the values under other branches of the host's driver, by capacity.
        policies: rules for claims that consume parts of a capacity, by its name.
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
        """Return the resource.k8s.io/v1 JSON."""
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


ADVERTISER = "dra-fleet/advertise"
"""The label by which nodes report who advertises their devices, from their first moment to their last."""

POOL = "dra-fleet/pool"
"""The label by which a pool's nodes are known to pods, whatever the pool is called in its cloud."""

WORKLOAD = "dra-fleet/workload"
"""The label on the Jobs and pods of a declared workload."""

_Spec = TypeVar("_Spec", bound=DeviceModel)


def spec_or_none(
    model: type[_Spec],
    value: Mapping[str, Any],
    at: tuple[object, ...],
    findings: Findings,
    rename: Callable[[tuple[str, ...]], tuple[object, ...]] = lambda parts: parts,
) -> _Spec | None:
    """Return the spec, or None after its problems were reported.

    Args:
        model: the spec's type.
        value: the spec as JSON.
        at: the path of the settings it was made from.
        findings: collects the problems.
        rename: turns a location in the spec into one in the settings.
    """
    try:
        return model.from_object(value)
    except ValidationError as invalid:
        for detail in invalid.errors(include_url=False):
            context = detail.get("ctx", {})
            below = str(context.get("at", ""))
            location = tuple(str(part) for part in detail["loc"]) + (tuple(below.split(".")) if below else ())
            findings.error(
                *at,
                *rename(location),
                what=message_of(detail),
                allowed=str(context.get("allowed", "")),
                fix=str(context.get("fix", "")),
            )
        return None


def slice_specs(
    driver: str, node: str, devices: list[Object], generation: int, counters: Sequence[Object] = ()
) -> list[Object]:
    """Return the specs of the slices of one node-local pool; one empty slice if there are no devices.

    Counters are in a separate slice, as Kubernetes requires from 1.35 on.

    Args:
        driver: the driver's name.
        node: the node's name, which is the pool's name too.
        devices: resource.k8s.io/v1 device objects.
        generation: the pool's generation.
        counters: counters that devices of the pool share.
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
    """Return a quantity in the API's canonical form: 4864 -> "4864Mi", 40960 -> "40Gi"."""
    return f"{count}Mi" if count % 1024 else f"{count // 1024}Gi"


def stable_uuid(*parts: str | int) -> str:
    """Return a lower-case UUID that depends only on its arguments."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))
