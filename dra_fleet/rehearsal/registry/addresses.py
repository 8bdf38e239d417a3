"""Addresses of the charts that a rehearsal serves: the known ones and those of its stack."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec import Struct

from dra_fleet import drivers
from dra_fleet.fleet.queueing import kueue
from dra_fleet.rehearsal.simulator.files import write_private

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.rehearsal.home import Home

OCI: Final = "oci://"


class Address(Struct, frozen=True):
    """Address where one chart is published.

    Attributes:
        chart: its name.
        host: the registry's or repository's host.
        path: of the OCI repository, or of the chart repository's index; without slashes at its ends.
        is_oci: whether it is an OCI registry.
    """

    chart: str
    host: str
    path: str
    is_oci: bool

    @classmethod
    def of(cls, chart: str, repository: str) -> Address | None:
        """Return the address of a chart reference; None for a local path or an address without TLS."""
        url = urlsplit(repository or chart)
        if url.scheme not in {"oci", "https"} or not url.netloc:
            return None
        name = chart.rstrip("/").rpartition("/")[2]
        return cls(name, url.netloc, url.path.strip("/"), url.scheme == "oci")

    def __str__(self) -> str:
        scheme = OCI if self.is_oci else "https://"
        return f"{scheme}{self.host}/{self.path}" + ("" if self.is_oci else f" {self.chart}")

    @property
    def arguments(self) -> list[str]:
        """Return the chart and its repository as arguments of helm."""
        if self.is_oci:
            return [f"{OCI}{self.host}/{self.path}"]
        return [self.chart, "--repo", f"https://{self.host}/{self.path}"]


@cache
def known() -> tuple[Address, ...]:
    """Return the addresses of all charts in the catalogues."""
    entries = [version for driver in drivers.known() for version in driver.facts.versions]
    operators = [driver.resources.operator for driver in drivers.known() if driver.resources.operator]
    references = [(entry.chart, entry.repository) for entry in [*entries, *kueue.versions().values()]]
    references += [(entry.chart, entry.repository) for one in operators for entry in one.versions()]
    return _addresses(references)


def remember(plan: FleetPlan, home: Home) -> None:
    """Record the addresses of a fleet's charts, so that the registry serves them too."""
    releases = [release for cluster in plan.clusters for release in cluster.releases]
    references = sorted({(release.chart, release.repository) for release in releases})
    write_private(home.chart_addresses, json.dumps(references))


def all_of(home: Home) -> tuple[Address, ...]:
    """Return the addresses in the catalogues and those of the stack that was rehearsed last."""
    try:
        references: list[tuple[str, str]] = json.loads(home.chart_addresses.read_text("utf-8"))
    except FileNotFoundError:
        return known()
    return tuple(dict.fromkeys([*known(), *_addresses(references)]))


def _addresses(references: Iterable[tuple[str, str]]) -> tuple[Address, ...]:
    found = (Address.of(chart, repository) for chart, repository in references)
    return tuple(dict.fromkeys(filter(None, found)))
