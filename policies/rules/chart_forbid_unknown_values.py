"""The values given to a chart are values that it has, of their types.

Helm ignores a key that a chart does not know without a word: `resources-computeDomains.enabled` for
`resources.computeDomains.enabled` leaves on what was meant to be off. Judged for the versions of charts that
the catalogue knows; what a chart leaves free, such as an affinity, is not looked into. Files with values are
read where they are at hand and unchanged; one that is not is told as unknown.
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


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
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
    fix="Correct the key or the type; the message names the nearest one.",
    link="https://helm.sh/docs/chart_template_guide/values_files/",
    severity="high",
    types=RELEASE_TYPES,
    judge=judge,
)
