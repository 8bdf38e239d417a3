"""A DeviceClass selects the devices of one driver.

A class without a selector, or with one that is true of devices of several drivers, may give a claim a NIC
although a GPU was meant. The rule evaluates the selectors on a bare device of each driver of the catalogue
and of an unknown driver, so how they are written makes no difference.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.drivers.divided_devices import DeviceSelection
from dra_fleet.kubernetes.cel import CelDevice, CelUnsupported
from dra_fleet.policy.reading.claims import CLASS_TYPES, WHOLE_CLASS_TYPES, selectors
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings


_DRIVER: Final = re.compile(r"""device\.driver == ['"]([^'"]+)['"]""")
_UNKNOWN_DRIVERS: Final = ("other.invalid", "another.invalid")
_SHOWN: Final = 2


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find classes without a selector, and those that select devices of several drivers."""
    del settings
    place = resource.get("spec", "selectors")
    if WHOLE_CLASS_TYPES.fullmatch(resource.type) and (place.absent or place.known == []):
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
    selected = _selected(expressions)
    if len(selected) > 1:
        yield Finding(
            resource,
            place,
            f"select devices of several drivers, such as {' and '.join(selected[:_SHOWN])}",
            "devices of one driver",
            "select the driver, for example device.driver == 'gpu.nvidia.com'",
        )


@cache
def _selected(expressions: tuple[str, ...]) -> tuple[str, ...]:
    """Return the drivers of which selectors take a device without attributes."""
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


RULE = ResourceRule(
    name="class-require-selector",
    description=(
        "DeviceClasses select devices of one driver, "
        "because a claim of any other class may be given a device of another kind."
    ),
    fix="Add a selector, of the driver at least.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#deviceclass",
    severity="high",
    types=CLASS_TYPES,
    judge=judge,
)
