"""The charts that advertise GPUs are installed in one exact version.

Without a version, or with a range, Helm takes the newest one of the moment: the same program installs another
driver next week, on production before anyone has tried it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.advertisers import plugin_of
from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find charts without an exact version."""
    del settings
    installed = release(resource)
    if installed is None or not (installed.known_versions or plugin_of(installed)):
        return
    version = installed.version
    if installed.is_pinned or version.unknown:
        return
    known = installed.known_versions
    yield Finding(
        resource,
        version,
        f"is {version.shown}, so Helm takes whichever version is the newest",
        "one whole version",
        f"set {version.path[-1]}: " + (f'"{known[-1]}"' if known else "the one that you have tested"),
    )


RULE = ResourceRule(
    name="chart-pin-version",
    description=(
        "Charts of DRA drivers, of the GPU Operator and of device plugins have an exact version, because "
        "Helm otherwise installs the version that is newest on the day of the run."
    ),
    fix="Set the chart's version to one full version.",
    link="https://helm.sh/docs/helm/helm_install/",
    severity="high",
    types=RELEASE_TYPES,
    check=check,
)
