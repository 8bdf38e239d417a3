"""What pods of a ComputeDomain claim besides their GPUs: a channel, by the template that its driver makes.

A node publishes one channel, so that a node takes one pod of all ComputeDomains. Whether the pods' nodes are
on one NVLink fabric is the plan's and the scheduler's business; here they only need devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dra_fleet.model.nodes import Object
    from dra_fleet.model.plan import ComputeDomainPlan


def channel_spec(domain: ComputeDomainPlan) -> Object:
    """The spec of a claim for a channel, apart from the configuration that names the domain."""
    return {"devices": {"requests": [_request(domain.channel_request, domain)]}}


def with_channel(spec: Object, domain: ComputeDomainPlan) -> Object:
    """The spec of a claim and of one for a channel as one: a pod gets both on one node or neither."""
    devices: Object = spec.get("devices", {})
    requests: list[Object] = devices.get("requests", [])
    names = [request["name"] for request in requests]
    name = next(name for name in _names(domain.channel_request) if name not in names)
    constraints = [
        {**item, "requests": item.get("requests") or names} for item in devices.get("constraints", [])
    ]
    together = {**devices, "requests": [*requests, _request(name, domain)]}
    if constraints:
        together["constraints"] = constraints
    return {**spec, "devices": together}


def _request(name: str, domain: ComputeDomainPlan) -> Object:
    return {
        "name": name,
        "exactly": {"deviceClassName": domain.channel_class, "allocationMode": "ExactCount", "count": 1},
    }


def _names(first: str) -> tuple[str, ...]:
    """One more than a claim has requests, so that one is free."""
    return (first, *(f"{first}-{number}" for number in range(33)))
