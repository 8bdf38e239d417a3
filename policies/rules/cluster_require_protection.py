"""Clusters of production cannot be deleted by a run.

What counts is the mark on the cloud's own resource, which a component hands down to its children.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.clouds import CLUSTERS
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find managed clusters that are not protected."""
    del settings
    if not resource.protect:
        yield Finding(
            resource,
            resource.properties,
            "is not protected",
            "protect=True",
            "pass opts=pulumi.ResourceOptions(protect=True) to the cluster or to the component that holds it",
        )


RULE = ResourceRule(
    name="cluster-require-protection",
    description=(
        "Production clusters are protected, because a renamed resource or a wrong stack name would "
        "otherwise delete every node and claim."
    ),
    fix="Set protect on the cluster, or on its parent component.",
    link="https://www.pulumi.com/docs/iac/concepts/options/protect/",
    severity="high",
    standard="disabled",
    production="mandatory",
    types=CLUSTERS,
    check=check,
)
