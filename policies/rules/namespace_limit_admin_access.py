"""Namespaces admit claims with adminAccess only where the policy config lists them.

The label resource.kubernetes.io/admin-access allows claims in a namespace to get devices that are in use; it
gives that right to all users who may create claims there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.policy.rule import TEXTS, Finding, Parameter, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings

NAME: Final = "namespace-limit-admin-access"
LABEL: Final = "resource.kubernetes.io/admin-access"
NAMESPACES: Final = Parameter(
    name="namespaces",
    schema=TEXTS,
    default=(),
    description="Namespaces that can allow claims with adminAccess.",
)


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find the label on a namespace that is not listed."""
    label = resource.get("metadata", "labels", LABEL)
    if label.text != "true":
        return
    listed = settings.texts(NAMESPACES.name)
    name = resource.get("metadata", "name")
    if listed and (name.unknown or name.text in listed):
        return
    yield Finding(
        resource,
        label,
        "is 'true'",
        f"the label on {', '.join(listed) or 'no namespace'}",
        f"remove the label, or list the namespace in {NAMESPACES.name} of {NAME}",
    )


RULE = ResourceRule(
    name=NAME,
    description=(
        "Only listed namespaces allow claims with adminAccess, because such claims get devices that other"
        " pods use."
    ),
    fix="Remove the label, or list the namespace in the policy config.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#admin-access",
    severity="high",
    types=re.compile(r"kubernetes:core/v1:Namespace(Patch)?"),
    parameters=(NAMESPACES,),
    check=check,
)
