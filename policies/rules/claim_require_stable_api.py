"""Classes, claims, templates and slices are declared in resource.k8s.io/v1.

Old Kubernetes versions serve v1beta1 and v1beta2 if they are enabled. An upgrade of the cluster removes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.claims import VERSIONED_TYPES
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings

STABLE: Final = "v1"


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find resources of a version that is not v1."""
    del settings
    match = VERSIONED_TYPES.fullmatch(resource.type)
    if match is None or match["version"] == STABLE:
        return
    kind = match["kind"]
    yield Finding(
        resource,
        resource.properties,
        f"is declared in resource.k8s.io/{match['version']}",
        f"resource.k8s.io/{STABLE}",
        f"declare it as kubernetes.resource.{STABLE}.{kind}; claims wrap their fields in `exactly` there",
    )


RULE = ResourceRule(
    name="claim-require-stable-api",
    description=(
        "DeviceClasses, claims and templates are declared in resource.k8s.io/v1, "
        "because clusters stop serving the beta versions when they are upgraded."
    ),
    fix="Declare the resource in resource.k8s.io/v1.",
    link="https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
    severity="high",
    types=VERSIONED_TYPES,
    check=check,
)
