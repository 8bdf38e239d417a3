"""Reject a DeviceClass whose name a driver's chart owns.

The chart's own classes, which a component of Helm renders as resources of the program, are no second owner.
Two owners of one object undo each other: the chart's next upgrade writes its own selectors back, or fails
because the object is not its.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.policy.reading.charts import is_rendered, own_name
from dra_fleet.policy.reading.claims import CLASS_TYPES
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings

NAME: Final = "class-forbid-chart-names"
OWN: Final = Parameter(
    name="own",
    schema=TEXTS,
    default=(),
    description="Names that the program can use because the chart is not installed.",
)


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find classes under a chart's name."""
    name = resource.get("metadata", "name")
    if name.text is None or name.text in settings.texts(OWN.name):
        return
    driver = drivers.of_class(name.text)
    if driver is not None and not is_rendered(resource):
        yield Finding(
            resource,
            name,
            f"is {name.shown}, which the chart {own_name(driver.facts.versions[-1].chart)} installs",
            "a name that no driver's chart owns",
            f"choose another name, or list it in {OWN.name} of {NAME} where no chart is installed",
        )


RULE = ResourceRule(
    name=NAME,
    description=(
        "DeviceClasses do not have a name that a driver's chart installs, because two owners of one "
        "object overwrite each other."
    ),
    fix="Choose another name.",
    link="https://helm.sh/docs/topics/charts/",
    severity="medium",
    types=CLASS_TYPES,
    parameters=(OWN,),
    check=check,
)
