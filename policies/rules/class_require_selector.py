"""A DeviceClass selects devices.

A class without a selector matches every device of every driver in the cluster: a claim of it may be given a
NIC where a GPU was meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.claims import WHOLE_CLASS_TYPES
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find classes without a selector."""
    del settings
    selectors = resource.get("spec", "selectors")
    if selectors.absent or selectors.known == []:
        yield Finding(
            resource,
            selectors,
            "is empty: the class matches every device of every driver",
            "at least one selector",
            "select the driver, for example device.driver == 'gpu.nvidia.com'",
        )


RULE = ResourceRule(
    name="class-require-selector",
    description=(
        "DeviceClasses have a selector, "
        "because without one they match every device of every driver in the cluster."
    ),
    fix="Add a selector, of the driver at least.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#deviceclass",
    severity="high",
    types=WHOLE_CLASS_TYPES,
    judge=judge,
)
