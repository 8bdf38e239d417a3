"""Claims with adminAccess are allowed in listed namespaces only.

A request with adminAccess gets devices that are in use by others. The API server lets it into namespaces with
the label resource.kubernetes.io/admin-access=true only; users who can label a namespace can lift that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.claims import CLAIM_TYPES, namespace_of, requests
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings

NAME = "claim-limit-admin-access"
NAMESPACES = Parameter(
    name="namespaces",
    schema=TEXTS,
    default=(),
    description="Namespaces whose claims can request adminAccess.",
)


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find requests with adminAccess outside the listed namespaces."""
    namespaces = settings.texts(NAMESPACES.name)
    for request in requests(resource):
        access = request.value.get("adminAccess")
        if access.flag:
            namespace = namespace_of(resource)
            if namespace.unknown or (namespace.text or "default") in namespaces:
                continue
            reported = namespace.shown if namespace.given else "'default'"
            yield Finding(
                resource,
                access,
                f"is true in the namespace {reported}",
                f"adminAccess in {', '.join(namespaces) or 'no namespace'}",
                f"leave adminAccess out, or list the namespace in {NAMESPACES.name} of {NAME}",
            )


RULE = ResourceRule(
    name=NAME,
    description=(
        "Claims request adminAccess only in listed namespaces, because adminAccess allocates devices that"
        " other pods use."
    ),
    fix="Remove adminAccess, or list the claim's namespace in the policy config.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#admin-access",
    severity="high",
    types=CLAIM_TYPES,
    parameters=(NAMESPACES,),
    check=check,
)
