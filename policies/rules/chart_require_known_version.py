"""The charts that give out GPUs have versions that the catalogue knows.

Of another version nobody here knows which values it has, nor what its plugin tolerates: the rules that need
to know say nothing, and their silence proves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Resource
    from dra_fleet.policy.rule import Settings


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find pinned charts of DRA drivers and of the GPU Operator whose version is not in the catalogue."""
    del settings
    installed = release(resource)
    if installed is None or not installed.known_versions:
        return
    if not installed.is_pinned or installed.known_version is not None or installed.version.unknown:
        return
    in_chart = installed.version.absent and installed.version_text
    told = installed.chart if in_chart else installed.version
    why = "" if told.absent else ", which is not in the catalogue"
    yield Finding(
        resource,
        told,
        f"is {told.shown}{why}, so the values of {installed.chart_name} cannot be judged",
        ", ".join(installed.known_versions),
        "use one of these, or compare the values with the chart's own values.yaml",
    )


RULE = ResourceRule(
    name="chart-require-known-version",
    description=(
        "Charts of DRA drivers and of the GPU Operator have a version that the catalogue knows, "
        "because the values of another one cannot be judged."
    ),
    fix="Use a version of the catalogue, or compare the values with the chart's own.",
    link="https://helm.sh/docs/chart_template_guide/values_files/",
    severity="low",
    standard="advisory",
    types=RELEASE_TYPES,
    judge=judge,
)
