"""Every claim of a pod is used by a container of it.

A claim that no container names is allocated all the same: the GPU is paid for and not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.pods import POD_TYPES, pod_specs
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.reading.pods import PodSpec
    from dra_fleet.policy.rule import Settings


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find claims that no container uses."""
    del settings
    if resource.type.endswith("Patch"):
        return  # its containers are those of what it patches, with which it is checked
    for spec in pod_specs(resource):
        yield from _check(resource, spec)


def _check(resource: Resource, spec: PodSpec) -> Iterator[Finding]:
    claims = [(claim, claim.get("name").text) for claim in spec.claims]
    if not claims:
        return
    used = {use.text for container in spec.containers for use in container.claims}
    if resource.unknowns:
        return  # an unknown use may be of any claim
    for claim, name in claims:
        if name is not None and name not in used:
            yield Finding(
                resource,
                claim,
                f"is the claim {name!r}, which no container uses",
                "claims that a container names in resources.claims",
                f"add {{name: {name}}} to resources.claims of a container, or remove the claim",
            )


RULE = ResourceRule(
    name="pod-require-used-claims",
    description=(
        "A container uses each claim of its pod, because devices of unused claims are allocated and paid "
        "for without any use."
    ),
    fix="Name the claim in a container's resources.claims, or remove it.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#workloads",
    severity="medium",
    types=POD_TYPES,
    check=check,
)
