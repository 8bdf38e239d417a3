"""Charts that a rehearsal serves without the network, and which kind each release got."""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from dra_fleet import drivers
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.passed_on import AUTHORITIES
from dra_fleet.rehearsal.registry import archives
from dra_fleet.rehearsal.registry.archives import (
    Chart,
    ChartUnavailableError,
    folder_files,
    pack,
    packed,
    unpacked,
)
from dra_fleet.rehearsal.simulator.files import write_private

if TYPE_CHECKING:
    from dra_fleet.model.plan import FleetPlan, ReleasePlan
    from dra_fleet.rehearsal.registry.archives import Origin

logger = logging.getLogger(__name__)

BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Systems' files with certificate authorities: https://go.dev/src/crypto/x509/root_linux.go."""


def local(name: str, version: str, home: Home) -> Chart | None:
    """Return a chart of a Go module, or an imitation; None if there is neither.

    Raises:
        ChartUnavailableError: the Go module cannot be fetched.
    """
    if (found := packed(name, version)) is not None:
        return found
    for folder, origin in _folders(home):
        there = {path.name: path for path in (folder / name).glob("*")}
        if match := archives.matching(there, version):
            return pack(name, match, folder_files(there[match]), origin)
    return None


def resolve(
    chart: str, version: str | None, _repository: str | None = None, *, home: Home | None = None
) -> Path:
    """Return the folder or archive of a chart reference, for the simulated Kubernetes provider.

    Raises:
        ChartUnavailableError: there is none.
    """
    if Path(chart).exists():
        return Path(chart).resolve()
    home, name = home or Home.default(), chart.rstrip("/").rpartition("/")[2]
    found = local(name, version or "", home)
    if found is None:
        available = ", ".join(versions(name, home)) or "none"
        raise ChartUnavailableError(
            f"chart {chart} {version or '(no version)'} is not available here; available: {available}"
        )
    record(home, name, found.version, found.origin)
    file = home.charts / "archives" / f"{name}-{found.version}.tgz"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(file, found.content)
    return file


def versions(name: str, home: Home) -> list[str]:
    """Return the versions of a chart that are available without the network, newest last."""
    known = archives.catalogue().get(name)
    found = {path.name for folder, _ in _folders(home) for path in (folder / name).glob("*")}
    return sorted({*(known[1].versions if known else ()), *found})


def record(home: Home, name: str, version: str, origin: Origin) -> None:
    """Record which kind of a chart was served."""
    home.charts_served.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(home.charts_served / f"{name} {version}", origin)


def served(home: Home) -> dict[str, Origin]:
    """Return the origin of each served chart, by the chart's name and version with a space between."""
    files = sorted(home.charts_served.glob("[!.]*"))
    return {file.name: cast("Origin", file.read_text("utf-8")) for file in files}


def proxy_port(home: Home) -> int | None:
    """Return the port of the rehearsal's proxy; None before the rehearsal was started."""
    try:
        return int(home.proxy_port.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def system_authorities() -> bytes:
    """Return the certificates that this user's programs trust, as PEM."""
    named = {path for name in AUTHORITIES if (path := os.environ.get(name)) and Path(path).is_file()}
    usual = (path for path in (ssl.get_default_verify_paths().cafile, *BUNDLES) if path)
    found = named or {path for path in usual if Path(path).is_file()}
    return b"\n".join(sorted({Path(path).read_bytes() for path in found}))


def made(home: Home) -> Path:
    """Return the directory of the current stack's charts, as `<chart>/<version>/`."""
    return home.charts / "described"


def of_modules(home: Home) -> Path:
    """Return the directory of charts built from modules, as `<chart>/<version>/`."""
    return home.charts / "modules"


def _folders(home: Home) -> tuple[tuple[Path, Origin], ...]:
    return (made(home), "imitated"), (of_modules(home), "from its module")


def write_likenesses(plan: FleetPlan, home: Home) -> None:
    """Make a chart for each release of an unknown version from the version that it is checked as.

    It is served if the chart's registry cannot be reached. Without Go there is no such chart.
    """
    for release in (release for cluster in plan.clusters for release in cluster.releases):
        name = release.chart.rstrip("/").rpartition("/")[2]
        if archives.is_listed(name, release.version):
            continue
        try:
            base = _likeness(release)
        except RehearsalError as error:
            logger.info("chart %s %s is not imitated: %s", name, release.version, error)
            continue
        if base is None:
            continue
        chart = pack(name, release.version, unpacked(base), "imitated", chart={"appVersion": release.version})
        for path, content in unpacked(chart).items():
            file = made(home) / name / release.version / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _likeness(release: ReleasePlan) -> Chart | None:
    """Return the chart of the version that a release's version is based on."""
    facts = next((each.facts for each in drivers.known() if each.facts.driver == release.driver), None)
    version = facts.checked_version(release.version) if facts is not None else None
    while facts is not None and version is not None:
        found = packed(version.chart.rpartition("/")[2], version.version)
        before = version.checked_by or version.like
        if found is not None or not before:
            return found
        version = facts.checked_version(before)
    return None
