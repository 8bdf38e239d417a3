"""DeviceClasses, claims and templates of any version of the API, as Kubernetes resources in Pulumi."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.core.declared.values import Value

GROUP = r"kubernetes:resource\.k8s\.io/(?P<version>v\w+)"
CLAIM_TYPES = re.compile(rf"{GROUP}:ResourceClaim(Template)?(Patch)?")
TEMPLATE_TYPES = re.compile(rf"{GROUP}:ResourceClaimTemplate(Patch)?")
CLASS_TYPES = re.compile(rf"{GROUP}:DeviceClass(Patch)?")
WHOLE_CLASS_TYPES = re.compile(rf"{GROUP}:DeviceClass")
SELECTING_TYPES = re.compile(rf"{GROUP}:(DeviceClass|ResourceClaim|ResourceClaimTemplate)(Patch)?")
VERSIONED_TYPES = re.compile(
    rf"{GROUP}:(?P<kind>(DeviceClass|ResourceClaim|ResourceClaimTemplate|ResourceSlice)(List|Patch)?)"
)
"""The kinds that v1 has."""


@dataclass(frozen=True, kw_only=True)
class ClassDemand:
    """One demand for devices of a class: a request, or one of its alternatives.

    Attributes:
        name: what selects it in constraints, `gpu` or `gpu/h100`.
        value: where its class, count and selectors are.
        is_alternative: whether it is one of several.
    """

    name: str
    value: Value
    is_alternative: bool


def devices(resource: Resource) -> Value:
    """The `devices` of a claim or of a template."""
    inner = ("spec", "spec") if "ResourceClaimTemplate" in resource.type else ("spec",)
    return resource.get(*inner, "devices")


def requests(resource: Resource) -> list[ClassDemand]:
    """Every demand of a claim or template; v1's `exactly` and the beta forms without it alike."""
    found: list[ClassDemand] = []
    for request in devices(resource).get("requests").items:
        name = request.get("name").text or ""
        alternatives = request.get("firstAvailable")
        if alternatives.given:
            for alternative in alternatives.items:
                inner = f"{name}/{alternative.get('name').text or ''}"
                found.append(ClassDemand(name=inner, value=alternative, is_alternative=True))
            continue
        exactly = request.get("exactly")
        found.append(
            ClassDemand(name=name, value=request if exactly.absent else exactly, is_alternative=False)
        )
    return found


def namespace_of(resource: Resource) -> Value:
    """The namespace of a claim: its own, else its provider's, which comes before that of a kubeconfig."""
    own = resource.get("metadata", "namespace")
    by_provider = resource.provider_properties.get("namespace")
    return by_provider if own.absent and not by_provider.absent else own


def selectors(holder: Value) -> list[Value]:
    """The CEL expressions of a request or of a class's spec."""
    return holder.every("selectors", "*", "cel", "expression")


def all_selectors(resource: Resource) -> list[Value]:
    """Every CEL expression of a class, claim or template."""
    if CLASS_TYPES.fullmatch(resource.type):
        return selectors(resource.get("spec"))
    return [selector for request in requests(resource) for selector in selectors(request.value)]


def configs(resource: Resource) -> list[Value]:
    """The opaque driver configurations of a class, claim or template."""
    holder = resource.get("spec") if CLASS_TYPES.fullmatch(resource.type) else devices(resource)
    return holder.every("config", "*", "opaque")
