"""Helm charts as Pulumi programs install them: helm.sh/v3 Release and Chart, helm.sh/v4 Chart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet import hardware as catalogue

if TYPE_CHECKING:
    from dra_fleet.declared.resources import Resource
    from dra_fleet.declared.values import Value
    from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts

RELEASE_TYPES: Final = re.compile(r"kubernetes:helm\.sh/(?:v3:Release|v3:Chart|v4:Chart)")
_VERSION_PREFIX: Final = "v"
GPU_OPERATOR: Final = "gpu-operator"
_EXACT: Final = re.compile(r"v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
"""A whole version of https://semver.org; anything shorter or with an operator is a range to Helm."""
_DIGEST: Final = re.compile(r"oci://.*@sha256:[0-9a-f]{64}")
_LOCAL: Final = (".", "/")


@dataclass(frozen=True, kw_only=True)
class Release:
    """One installed chart; values are read when they are asked for.

    Attributes:
        chart_name: the chart's own name: the last part of a path, an OCI address or `repo/chart`; empty if
            unknown.
    """

    resource: Resource
    chart_name: str

    @property
    def chart(self) -> Value:
        """The chart as given."""
        return self.resource.get("chart")

    @property
    def version(self) -> Value:
        """The chart's version as given."""
        return self.resource.get("version")

    @property
    def version_text(self) -> str:
        """The version, or the tag of an OCI address, without a leading v; empty if absent or unknown."""
        tag = (self.chart.text or "").rsplit("/", 1)[-1].partition("@")[0].partition(":")[2]
        return (self.version.text or tag).removeprefix(_VERSION_PREFIX)

    @property
    def is_pinned(self) -> bool:
        """Whether it is one chart for ever: of a whole version, of a digest, or a folder of the project."""
        chart = self.chart.text or ""
        if chart.startswith(_LOCAL) or _DIGEST.fullmatch(chart):
            return True
        return _EXACT.fullmatch(self.version.text or self.version_text) is not None

    @property
    def repository(self) -> Value:
        """Where the chart comes from: `repositoryOpts.repo` (v3 Chart: `fetchOpts.repo`)."""
        repository = self.resource.get("repositoryOpts", "repo")
        return self.resource.get("fetchOpts", "repo") if repository.absent else repository

    @property
    def namespace(self) -> Value:
        """The namespace it is installed into."""
        return self.resource.get("namespace")

    @property
    def values(self) -> Value:
        """The chart's values as given."""
        return self.resource.get("values")

    def value(self, dotted: str) -> Value:
        """The value at a dotted key, such as `resources.gpus.enabled`; absent means the chart's default."""
        return self.values.get(*dotted.split("."))

    @property
    def driver(self) -> DriverFacts | None:
        """The facts of the DRA driver that the chart installs, in any version; None for other charts."""
        return next(
            (
                driver.facts
                for driver in drivers.known()
                if any(own_name(version.chart) == self.chart_name for version in driver.facts.versions)
            ),
            None,
        )

    @property
    def driver_version(self) -> ChartVersion | None:
        """The facts of the very version of a DRA driver's chart; None if it is not known to the catalogue."""
        driver = self.driver
        return None if driver is None else driver.version(self.version_text)

    @property
    def known_version(self) -> ChartVersion | None:
        """The facts of the very version of a DRA driver's or the GPU Operator's chart; None if not known."""
        if not self.is_gpu_operator:
            return self.driver_version
        versions = catalogue.load().gpu_operator.versions
        return next(
            (known for known in versions if known.version.removeprefix(_VERSION_PREFIX) == self.version_text),
            None,
        )

    @property
    def known_versions(self) -> list[str]:
        """The versions of this chart in the catalogue, the newest last; none of other charts."""
        if self.is_gpu_operator:
            return [known.version for known in catalogue.load().gpu_operator.versions]
        versions = () if self.driver is None else self.driver.versions
        return [known.version for known in versions if own_name(known.chart) == self.chart_name]

    @property
    def is_gpu_operator(self) -> bool:
        """Whether it is the NVIDIA GPU Operator."""
        return self.chart_name == GPU_OPERATOR


def release(resource: Resource) -> Release | None:
    """The chart that a resource installs; None for other resources. An unknown chart name is noted."""
    if RELEASE_TYPES.fullmatch(resource.type) is None:
        return None
    chart = (resource.get("chart").text or "").rstrip("/")
    return Release(resource=resource, chart_name=own_name(chart))


def own_name(chart: str) -> str:
    """The last part of a chart's path, address or `repo/chart`, without tag and digest."""
    return chart.rsplit("/", 1)[-1].partition("@")[0].partition(":")[0].removesuffix(".tgz")
