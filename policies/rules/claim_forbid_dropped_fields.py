"""Reject classes and claims with a field that their cluster drops.

The API server removes fields whose feature gate is off before it validates, silently: the claim is
stored without them and allocates something else than was asked for.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.devices.gates import GATED_FIELDS
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.claims import SELECTING_TYPES
from dra_fleet.policy.reading.minors import KUBERNETES, Minors, has
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.kubernetes.minors import FeatureGate
    from dra_fleet.policy.rule import Settings

NAME = "claim-forbid-dropped-fields"


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find fields whose feature gate is off in the minor that stores them."""
    minors = Minors(stack, settings)
    known = kubernetes_facts()
    for resource in stack.of(SELECTING_TYPES):
        kind = resource.type.rpartition(":")[2].removesuffix("Patch")
        for path, name in GATED_FIELDS[kind]:
            gate = known.gate(name)
            for field in resource.properties.every(*_steps(path)):
                yield from _check(resource, field, gate, minors)


def _check(resource: Resource, field: Value, gate: FeatureGate, minors: Minors) -> Iterator[Finding]:
    if not field.possible:
        return
    minor = minors.of(resource)
    if has(gate, minor) or not field.known:
        return
    since = f"{gate.on_from} or newer" if gate.on_from else "no known minor"
    if minor is None:
        yield Finding(
            resource,
            field,
            f"needs the feature gate {gate.name}, and the program does not say which Kubernetes stores it",
            f"a cluster of {since}",
            f"set {KUBERNETES.name} of {NAME} to the cluster's minor",
        )
    else:
        fix = f"run the cluster at {since}, or leave the field out" if gate.on_from else "leave the field out"
        problem = f"is dropped by Kubernetes {minor}: {gate.name} is off there"
        yield Finding(resource, field, problem, f"a cluster of {since}", fix)


@cache
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.replace("[]", ".*").split("."))


RULE = StackRule(
    name=NAME,
    description=(
        "Classes and claims set only fields that the Kubernetes version of their cluster stores, because "
        "the API server drops other fields silently."
    ),
    fix=("Enable the field's feature gate, use a Kubernetes version that has it, or remove the field."),
    link="https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/",
    severity="high",
    parameters=(KUBERNETES,),
    check=check,
)
