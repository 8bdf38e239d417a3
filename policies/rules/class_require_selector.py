"""A DeviceClass selects the devices of one driver.

A class without a selector, or with one that is true of devices of several drivers, may give a claim a NIC
although a GPU was meant. The rule evaluates the selectors on a bare device of each driver of the catalogue
and of an unknown driver, so how they are written makes no difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.claims import (
    CLASS_TYPES,
    WHOLE_CLASS_TYPES,
    selected_drivers,
    selectors,
)
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings


_SHOWN: Final = 2


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find classes without a selector, and those that select devices of several drivers."""
    del settings
    place = resource.get("spec", "selectors")
    whole = WHOLE_CLASS_TYPES.fullmatch(resource.type) is not None
    if place.known == [] or (whole and place.absent):  # a patch replaces the list of the class
        yield Finding(
            resource,
            place,
            "is empty: the class matches every device of every driver",
            "at least one selector",
            "select the driver, for example device.driver == 'gpu.nvidia.com'",
        )
        return
    texts = [expression.text for expression in selectors(resource.get("spec"))]
    expressions = tuple(text for text in texts if text is not None)
    if len(expressions) != len(texts) or not expressions:
        return
    selected = selected_drivers(expressions)
    if len(selected) > 1:
        yield Finding(
            resource,
            place,
            f"select devices of several drivers, such as {' and '.join(selected[:_SHOWN])}",
            "devices of one driver",
            "select the driver, for example device.driver == 'gpu.nvidia.com'",
        )


RULE = ResourceRule(
    name="class-require-selector",
    description=(
        "DeviceClasses select devices of one driver, because a claim of another class can get a device of"
        " any kind."
    ),
    fix="Add a selector, at least for the driver.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#deviceclass",
    severity="high",
    types=CLASS_TYPES,
    check=check,
)
