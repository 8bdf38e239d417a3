"""Charts of DRA drivers and operators have versions that the catalogue knows.

Of another version, values and tolerations of the plugin are unknown: the rules that need them report nothing,
which proves nothing. The nearest known version is used instead, and the findings name it. They are advisory.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from dra_fleet.policy.reading.charts import (
    INSTALLED_TYPES,
    RELEASE_TYPES,
    RENDERED_TYPES,
    release,
    rendered,
)
from dra_fleet.policy.reading.unknown_values import unknown_values
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find charts of DRA drivers and of the GPU Operator of a version that is not in the catalogue."""
    del settings
    installed = release(resource) or rendered(resource)
    nearest = None if installed is None else installed.nearest_version
    if installed is None or nearest is None or installed.known_version is not None:
        return
    if installed.version.unknown:
        return
    if installed.is_pinned:
        in_chart = installed.version.absent and installed.version_text
        reported = installed.chart if in_chart else installed.version
        why = "" if reported.absent else ", which is not in the catalogue"
        yield Finding(
            resource,
            reported,
            f"is {reported.shown}{why}, "
            f"so the values of {installed.chart_name} are checked by {nearest.version}",
            ", ".join(installed.known_versions),
            "use one of these, or compare the values with the chart's own values.yaml",
        )
    if RELEASE_TYPES.fullmatch(resource.type):
        for found in unknown_values(resource, installed, nearest):
            yield replace(found, problem=f"{found.problem} (checked by {nearest.version})")


RULE = ResourceRule(
    name="chart-require-known-version",
    description=(
        "Charts of DRA drivers and of the GPU Operator have a version from the catalogue, because the "
        "values of an unknown version can only be compared with the nearest known version."
    ),
    fix="Use a version from the catalogue, or compare the values with the chart.",
    link="https://helm.sh/docs/chart_template_guide/values_files/",
    severity="low",
    standard="advisory",
    types=re.compile(f"{INSTALLED_TYPES.pattern}|{RENDERED_TYPES.pattern}"),
    check=check,
)
