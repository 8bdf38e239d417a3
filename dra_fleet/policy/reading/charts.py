"""Helm charts as Pulumi programs install them: helm.sh/v3 Release and Chart, helm.sh/v4 Chart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers

if TYPE_CHECKING:
    from dra_fleet.declared.resources import Resource
    from dra_fleet.declared.values import Value
    from dra_fleet.drivers import Driver
    from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts
    from dra_fleet.drivers.resources import Operator

RELEASE_TYPES: Final = re.compile(r"kubernetes:helm\.sh/(?:v3:Release|v3:Chart|v4:Chart)")
_VERSION_PREFIX: Final = "v"
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

    @cached_property
    def installs(self) -> Driver | None:
        """The DRA driver that the chart installs, in any version; None for other charts."""
        return next(
            (
                driver
                for driver in drivers.known()
                if any(own_name(version.chart) == self.chart_name for version in driver.facts.versions)
            ),
            None,
        )

    @property
    def driver(self) -> DriverFacts | None:
        """The facts of the DRA driver that the chart installs; None for other charts."""
        return None if self.installs is None else self.installs.facts

    @cached_property
    def operator(self) -> Operator | None:
        """What is known of the operator of a DRA driver that the chart is; None for other charts."""
        found = (driver.resources.operator for driver in drivers.known())
        return next((each for each in found if each is not None and each.chart == self.chart_name), None)

    @property
    def driver_version(self) -> ChartVersion | None:
        """The facts of the very version of a DRA driver's chart; None if it is not known to the catalogue."""
        driver = self.driver
        return None if driver is None else driver.version(self.version_text)

    @property
    def known_version(self) -> ChartVersion | None:
        """The facts of the very version of a DRA driver's or an operator's chart; None if not known."""
        if self.operator is None:
            return self.driver_version
        return next(
            (
                known
                for known in self.operator.versions()
                if known.version.removeprefix(_VERSION_PREFIX) == self.version_text
            ),
            None,
        )

    @property
    def known_versions(self) -> list[str]:
        """The versions of this chart that are known, the newest last; none of other charts."""
        if self.operator is not None:
            return [known.version for known in self.operator.versions()]
        versions = () if self.driver is None else self.driver.versions
        return [known.version for known in versions if own_name(known.chart) == self.chart_name]


def release(resource: Resource) -> Release | None:
    """The chart that a resource installs; None for other resources. An unknown chart name is noted."""
    if RELEASE_TYPES.fullmatch(resource.type) is None:
        return None
    chart = (resource.get("chart").text or "").rstrip("/")
    return Release(resource=resource, chart_name=own_name(chart))


def own_name(chart: str) -> str:
    """The last part of a chart's path, address or `repo/chart`, without tag and digest."""
    return chart.rsplit("/", 1)[-1].partition("@")[0].partition(":")[0].removesuffix(".tgz")
