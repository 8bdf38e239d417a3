"""Find the chart of a release: published where the network has it, else our own that stands in for it.

A stand-in chart has the published one's name, version, value keys and objects; it lives in
`charts/<chart>/<version>/` of its driver's folder. This module renders and installs nothing.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.rehearsal.drivers import chart_folders
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.passed_on import passed_on
from dra_fleet.rehearsal.refused import refusal, remember_refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.model.plan import FleetPlan, ReleasePlan

_PULL: Final = 15.0  # seconds for the network to deliver a chart
_NO_HELM: Final = "helm is not on PATH"


class ChartUnavailableError(RehearsalError):
    """A chart can neither be pulled nor stood in for; the message names what could be."""


def resolve(
    chart: str, version: str | None, repository: str | None = None, *, home: Home | None = None
) -> Path:
    """The directory or archive to install for a chart reference.

    The network is asked once: a pulled chart is kept in the rehearsal's home, a refusal is remembered there
    for a day.

    Args:
        chart: a directory or archive, an `oci://` reference, or a name in the repository.
        version: the exact version; None for the newest (published charts only).
        repository: URL of a chart repository, None for `oci://` and paths.
        home: of the rehearsal, None for the one that the environment names.

    Raises:
        ChartUnavailableError: the network does not have it and nothing stands in for it.
        HomeUnusableError: the home is somebody else's directory.
        OSError: the home cannot be written.
    """
    if Path(chart).exists():
        return Path(chart).resolve()
    name = chart.rstrip("/").rsplit("/", 1)[-1]
    home = home or Home.default()
    kept = home.root / "charts" / _key(name, version, repository or chart)
    archive = next(iter(sorted(kept.glob("*.tgz"))), None)
    if archive is not None:
        return archive
    reason = refusal(kept.with_suffix(".refused"))
    if reason is None:
        home.create()
        try:
            return _pull(chart, version, repository, kept)
        except ChartUnavailableError as error:
            reason = str(error)
            if reason != _NO_HELM:  # that is nothing the network said
                remember_refusal(kept.with_suffix(".refused"), reason)
    if version and (name, version) in stand_ins():
        return stand_ins()[name, version]
    for folder in (made_charts(home), module_charts(home)) if version else ():
        if (made := folder / name / (version or "")).is_dir():
            return made
    raise ChartUnavailableError(_nothing_stands_in(chart, name, version, reason.strip()))


@cache
def stand_ins() -> Mapping[tuple[str, str], Path]:
    """The charts that stand in for published ones, by name and version."""
    files = [file for folder in chart_folders() for file in folder.glob("*/*/Chart.yaml")]
    return {(file.parts[-3], file.parts[-2]): file.parent for file in files}


def made_charts(home: Home) -> Path:
    """Where stand-ins for drivers that stack files describe are made, as `<chart>/<version>/`."""
    return home.root / "charts" / "described"


def write_likenesses(plan: FleetPlan, home: Home) -> None:
    """Make a chart for each release whose version has no stand-in: that of what it is like or judged by.

    Args:
        plan: the fleet.
        home: of the rehearsal.
    """
    for release in (release for cluster in plan.clusters for release in cluster.releases):
        name, base = release.chart.rstrip("/").rpartition("/")[2], _likeness(release)
        if (name, release.version) in stand_ins() or base is None:
            continue
        made = made_charts(home) / name / release.version
        shutil.copytree(base, made, dirs_exist_ok=True)
        told = made / "Chart.yaml"
        own = re.sub(r"(?m)^(version|appVersion): .*$", rf"\1: {release.version}", told.read_text("utf-8"))
        told.write_text(re.sub(r"(?m)^name: .*$", f"name: {name}", own), "utf-8")


def _likeness(release: ReleasePlan) -> Path | None:
    """The stand-in of the version that stands for a release's; None where none does."""
    facts = next((each.facts for each in drivers.known() if each.facts.driver == release.driver), None)
    version = facts.judged_version(release.version) if facts is not None else None
    while facts is not None and version is not None:
        found = stand_ins().get((version.chart.rpartition("/")[2], version.version))
        before = version.judged_by or version.like
        if found is not None or not before:
            return found
        version = facts.judged_version(before)
    return None


def module_charts(home: Home) -> Path:
    """Where charts are that programs' Go modules bring, as `<chart>/<version>/`."""
    return home.root / "charts" / "modules"


def is_stand_in(chart: Path, home: Home) -> bool:
    """Whether what `resolve` found is no published chart."""
    return chart in stand_ins().values() or chart.is_relative_to(made_charts(home))


def stand_in_versions(name: str) -> list[str]:
    """The versions of a chart that have a stand-in."""
    return sorted(version for chart, version in stand_ins() if chart == name)


def _key(name: str, version: str | None, source: str) -> str:
    digest = hashlib.sha256(f"{source}@{version}".encode()).hexdigest()[:12]
    return f"{name}-{version or 'newest'}-{digest}".replace(".", "_")


def _pull(chart: str, version: str | None, repository: str | None, kept: Path) -> Path:
    helm = shutil.which("helm")
    if helm is None:
        raise ChartUnavailableError(_NO_HELM)
    options = [*(["--version", version] if version else []), *(["--repo", repository] if repository else [])]
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".pull-") as place:
        command = [helm, "pull", chart, *options, "--destination", place]
        try:
            result = subprocess.run(
                command, env=passed_on(), check=False, capture_output=True, text=True, timeout=_PULL
            )
        except subprocess.TimeoutExpired:
            raise ChartUnavailableError(f"no answer within {_PULL:g} s") from None
        archives = list(Path(place).glob("*.tgz"))
        if result.returncode != 0 or not archives:
            raise ChartUnavailableError(
                result.stderr.strip().removeprefix("Error: ") or "helm pulled nothing"
            )
        kept.mkdir(exist_ok=True)
        return archives[0].rename(kept / archives[0].name)


def _nothing_stands_in(chart: str, name: str, version: str | None, reason: str) -> str:
    versions = stand_in_versions(name)
    known = sorted({chart for chart, _ in stand_ins()})
    if versions:
        hint = f"versions that have a stand-in: {', '.join(versions)}"
    else:
        hint = f"no chart of that name has a stand-in; these have: {', '.join(known) or 'none'}"
    asked = f"{chart} {version}" if version else f"{chart} (no version given)"
    return f"chart {asked} cannot be pulled ({reason}); {hint}"
