"""DeviceClasses, claims and templates of any version of the API, as Kubernetes resources in Pulumi."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet import drivers
from dra_fleet.drivers.divided_devices import DeviceSelection
from dra_fleet.kubernetes.cel import CelDevice, CelUnsupported

if TYPE_CHECKING:
    from collections.abc import Iterable

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
_DRIVER: Final = re.compile(r"""device\.driver == ['"]([^'"]+)['"]""")
_UNKNOWN_DRIVERS: Final = ("other.invalid", "another.invalid")


class ClassDemand(Struct, frozen=True, kw_only=True):
    """A demand for devices of a class: a request or one of its alternatives.

    Attributes:
        name: what selects it in constraints, `gpu` or `gpu/h100`.
        value: where its class, count and selectors are.
        is_alternative: whether it is one of several.
    """

    name: str
    value: Value
    is_alternative: bool


def devices(resource: Resource) -> Value:
    """Return the `devices` of a claim or of a template."""
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
    """Return the namespace of a claim: its own, otherwise its provider's, which precedes the kubeconfig's."""
    own = resource.get("metadata", "namespace")
    by_provider = resource.provider_properties.get("namespace")
    return by_provider if own.absent and not by_provider.absent else own


def selectors(holder: Value) -> list[Value]:
    """Return the CEL expressions of a request or of a class's spec."""
    return holder.every("selectors", "*", "cel", "expression")


def all_selectors(resource: Resource) -> list[Value]:
    """Every CEL expression of a class, claim or template."""
    if CLASS_TYPES.fullmatch(resource.type):
        return selectors(resource.get("spec"))
    return [selector for request in requests(resource) for selector in selectors(request.value)]


def configs(resource: Resource) -> list[Value]:
    """Return the opaque driver configurations of a class, claim or template."""
    holder = resource.get("spec") if CLASS_TYPES.fullmatch(resource.type) else devices(resource)
    return holder.every("config", "*", "opaque")


@cache
def selected_drivers(expressions: tuple[str, ...]) -> tuple[str, ...]:
    """Return the drivers of which selectors take a device without attributes; none if they are not read."""
    try:
        selection = DeviceSelection.of(expressions)
    except CelUnsupported:  # class-forbid-whole-gpus reports it
        return ()
    if selection is None:  # selector-require-valid-cel reports it
        return ()
    return tuple(name for name in _drivers() if selection.may_select(CelDevice.of({"name": "probe"}, name)))


@cache
def _drivers() -> tuple[str, ...]:
    texts = (text for driver in drivers.known() for text in driver.facts.class_selectors.values())
    named = (name for text in texts for name in _DRIVER.findall(text))
    return (*dict.fromkeys(named), *_UNKNOWN_DRIVERS)


def driver_of(name: str, classes: Iterable[Resource]) -> str:
    """Return the driver of a class of a chart or of the program by name; the name if it is not known."""
    known = drivers.of_class(name)
    if known is not None:
        return known.facts.driver
    for resource in classes:
        if resource.get("metadata", "name").peek == name:
            texts = [each.peek for each in selectors(resource.get("spec"))]
            expressions = tuple(text for text in texts if isinstance(text, str))
            named = sorted({found for text in expressions for found in _DRIVER.findall(text)})
            selected = selected_drivers(expressions) if len(expressions) == len(texts) else ()
            if len(selected) == 1 or len(named) == 1:
                return (selected or named)[0]
    return name
