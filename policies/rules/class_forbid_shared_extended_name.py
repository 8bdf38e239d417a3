"""An extended resource name is answered by one DeviceClass of a cluster.

Where two classes claim one name, the scheduler takes the newer one: declaring a second class silently moves
all pods that ask by that name to other devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.reading.claims import WHOLE_CLASS_TYPES
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.policy.rule import Settings


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find names that another class of the same cluster already answers."""
    del settings
    homes = Homes(stack)
    owners: dict[str, list[tuple[Resource, str]]] = {}
    for resource in stack.of(RELEASE_TYPES):
        installed = release(resource)
        version = None if installed is None else installed.driver_version
        if version is None:
            continue
        for name, owner in version.extended_resources.items():
            owners.setdefault(name, []).append((resource, f"class {owner} of the chart {resource.name}"))
    for resource in stack.of(WHOLE_CLASS_TYPES):
        extended = resource.get("spec", "extendedResourceName")
        if extended.text is None:
            continue
        for other, reported in owners.get(extended.text, []):
            if homes.together(resource, other) and not homes.undecided(resource, other):
                yield Finding(
                    resource,
                    extended,
                    f"is {extended.shown}, which {reported} answers too",
                    "one class for each extended resource name of a cluster",
                    "choose another name, or leave it out",
                )
        owners.setdefault(extended.text, []).append((resource, f"class {resource.name}"))


RULE = StackRule(
    name="class-forbid-shared-extended-name",
    description=(
        "Each extended resource name belongs to one DeviceClass of a cluster, because the scheduler uses "
        "the newest of several classes and pods move to other devices."
    ),
    fix="Choose another extended resource name.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#extended-resource",
    severity="medium",
    check=check,
)
