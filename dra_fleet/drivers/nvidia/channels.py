"""What pods of a ComputeDomain claim besides their GPUs: a channel, by the template that the driver makes.

A node publishes one channel, so that a node takes one pod of all ComputeDomains. Whether the pods' nodes are
on one NVLink fabric is the plan's and the scheduler's business; here they only need devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.nvidia.objects.channel import CHANNEL_CLASS, CHANNEL_REQUEST

if TYPE_CHECKING:
    from dra_fleet.model.nodes import Object


def channel_spec() -> Object:
    """The spec of a claim for a channel, apart from the configuration that names the domain."""
    return {"devices": {"requests": [_request(CHANNEL_REQUEST)]}}


def with_channel(spec: Object) -> Object:
    """The spec of a claim and of one for a channel as one: a pod gets both on one node or neither."""
    devices: Object = spec.get("devices", {})
    requests: list[Object] = devices.get("requests", [])
    names = [request["name"] for request in requests]
    name = next(name for name in _names() if name not in names)
    constraints = [
        {**item, "requests": item.get("requests") or names} for item in devices.get("constraints", [])
    ]
    together = {**devices, "requests": [*requests, _request(name)]}
    if constraints:
        together["constraints"] = constraints
    return {**spec, "devices": together}


def _request(name: str) -> Object:
    return {
        "name": name,
        "exactly": {"deviceClassName": CHANNEL_CLASS, "allocationMode": "ExactCount", "count": 1},
    }


def _names() -> tuple[str, ...]:
    """One more than a claim has requests, so that one is free."""
    return (CHANNEL_REQUEST, *(f"{CHANNEL_REQUEST}-{number}" for number in range(33)))
