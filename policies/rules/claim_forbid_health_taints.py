"""Reject claims that tolerate the taints by which a driver marks a broken device.

A toleration without a key, or with a health taint's key, hands out a GPU that has fallen off the bus.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.policy.reading.claims import CLAIM_TYPES, namespace_of, requests
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.core.declared.values import Value
    from dra_fleet.policy.rule import Settings

NAME: Final = "claim-forbid-health-taints"
NAMESPACES: Final = Parameter(
    name="namespaces",
    schema=TEXTS,
    default=(),
    description="Namespaces whose claims can tolerate these taints, for example to diagnose devices.",
)
HEALTH: Final = frozenset(key for driver in drivers.known() for key in driver.facts.health_taints)
ALLOWED: Final = "tolerations of other taints, each by its key"


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find tolerations that cover a health taint."""
    namespaces = settings.texts(NAMESPACES.name)
    tolerations = [item for request in requests(resource) for item in request.value.get("tolerations").items]
    if tolerations and namespaces and _is_in(resource, namespaces):
        return
    for toleration in tolerations:
        yield from _check(resource, toleration)


def _is_in(resource: Resource, namespaces: tuple[str, ...]) -> bool:
    namespace = namespace_of(resource)
    return namespace.unknown or (namespace.text or "default") in namespaces


def _check(resource: Resource, toleration: Value) -> Iterator[Finding]:
    key = toleration.get("key")
    if key.unknown or (key.text and key.text not in HEALTH):
        return
    problem = f"tolerates {key.shown}, a taint of broken devices" if key.text else "tolerates every taint"
    fix = f"tolerate another key, or list the namespace in {NAMESPACES.name} of {NAME}"
    yield Finding(resource, toleration, problem, ALLOWED, fix)


RULE = ResourceRule(
    name=NAME,
    description=(
        "Claims do not tolerate the taints that mark broken devices, because the scheduler would allocate"
        " such devices to them."
    ),
    fix="Tolerate other taints, each by its key.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#device-taints-and-tolerations",
    severity="medium",
    types=CLAIM_TYPES,
    parameters=(NAMESPACES,),
    check=check,
)
