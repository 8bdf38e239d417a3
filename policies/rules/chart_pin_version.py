"""The charts that give out GPUs are installed in one exact version.

Without a version, or with a range, Helm takes the newest one of the moment: the same program installs another
driver next week, on production before anyone has tried it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fleet import catalogue
from policies.reading.advertisers import PLUGIN_CHART
from policies.reading.charts import RELEASE_TYPES, own_name, release
from policies.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policies.reading.charts import Release
    from policies.resources import Resource
    from policies.rule import Settings

EXACT: Final = re.compile(r"v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
"""A whole version of https://semver.org; anything shorter or with an operator is a range to Helm."""
DIGEST: Final = re.compile(r"oci://.*@sha256:[0-9a-f]{64}")
LOCAL: Final = (".", "/")


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find charts without an exact version."""
    del settings
    installed = release(resource)
    if installed is None or not _gives_out_gpus(installed):
        return
    chart = installed.chart.text or ""
    if chart.startswith(LOCAL) or DIGEST.fullmatch(chart):
        return
    version = installed.version
    if version.unknown or EXACT.fullmatch(version.text or installed.version_text):
        return
    yield Finding(
        resource,
        version,
        f"is {version.shown}, so Helm takes whichever version is the newest",
        "one whole version",
        f"set version: {_example(installed)}",
    )


def _gives_out_gpus(installed: Release) -> bool:
    return installed.driver is not None or installed.is_gpu_operator or installed.chart_name == PLUGIN_CHART


def _example(installed: Release) -> str:
    versions = () if installed.driver is None else installed.driver.versions
    if installed.is_gpu_operator:
        versions = catalogue.load().gpu_operator.versions
    known = [each.version for each in versions if own_name(each.chart) == installed.chart_name]
    return f'"{known[-1]}"' if known else "the one that you have tested"


RULE = ResourceRule(
    name="chart-pin-version",
    description=(
        "Charts of DRA drivers, of the GPU Operator and of device plugins name one exact version, "
        "because Helm otherwise installs whichever is the newest at the time of the run."
    ),
    fix="Set the chart's version to one whole version.",
    link="https://helm.sh/docs/helm/helm_install/",
    severity="high",
    types=RELEASE_TYPES,
    judge=judge,
)
