"""The values given to a chart are values that it has, of their types.

Helm ignores a key that a chart does not know silently: `resources-computeDomains.enabled` for
`resources.computeDomains.enabled` leaves on what was meant to be off. Checked for the versions of charts
that the catalogue knows; values without a fixed form, such as an affinity, are not checked. Files with
values are read if they exist and are unchanged; otherwise they are reported as unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.reading.unknown_values import unknown_values
from dra_fleet.policy.rule import ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Finding, Settings


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find keys that the chart's version lacks, and values of a wrong type."""
    del settings
    installed = release(resource)
    if installed is None or not installed.catalogued:
        return
    for file in installed.unread:
        resource.unknowns[file.place] = None
    version = installed.known_version
    if version is not None:
        yield from unknown_values(resource, installed, version)


RULE = ResourceRule(
    name="chart-forbid-unknown-values",
    description=(
        "Charts of DRA drivers and of the GPU Operator get only values that their version has, because "
        "Helm ignores others silently."
    ),
    fix="Correct the key or the type. The message names the nearest one.",
    link="https://helm.sh/docs/chart_template_guide/values_files/",
    severity="high",
    types=RELEASE_TYPES,
    check=check,
)
