"""A pod with claims does not name its node.

`nodeName` bypasses the scheduler, which allocates devices: the pod waits on its node for a claim that is
never allocated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.pods import POD_TYPES, pod_specs
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find pods with claims that set their node."""
    del settings
    for spec in pod_specs(resource):
        node = spec.value.get("nodeName") if spec.claims else None
        if node is not None and node.text:
            yield Finding(
                resource,
                node,
                f"is {node.shown}",
                "no nodeName on pods with claims",
                "choose the node by nodeSelector: {kubernetes.io/hostname: …}, which the scheduler honours",
            )


RULE = ResourceRule(
    name="pod-forbid-fixed-node",
    description=(
        "Pods with claims do not set nodeName, because nodeName bypasses the scheduler, which allocates "
        "the devices."
    ),
    fix="Use a nodeSelector instead of nodeName.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#pre-scheduled-pods",
    severity="medium",
    types=POD_TYPES,
    check=check,
)
