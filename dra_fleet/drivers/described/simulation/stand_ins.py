"""Stand-in charts for drivers that stack files describe, made for each: the published ones are not known."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dra_fleet.model.plan import FleetPlan

_CHART: Final = Path(__file__).resolve().parent / "chart"


def write_charts(plan: FleetPlan, folder: Path) -> None:
    """Write a chart for each described driver of a plan.

    Args:
        plan: the fleet.
        folder: where they go, as `<chart>/<version>/`; what was there is replaced.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for cluster in plan.clusters:
        described = {
            one.described.publishes: one.described.plugin
            for one in cluster.settings.drivers.values()
            if one.described is not None
        }
        for release in cluster.releases:
            if release.driver in described:
                name = release.chart.rstrip("/").rpartition("/")[2]
                made = folder / name / release.version
                shutil.copytree(_CHART, made, dirs_exist_ok=True)
                told = {"publishes": release.driver, "plugin": described[release.driver]}
                (made / "Chart.yaml").write_text(_metadata(name, release.version, told), encoding="utf-8")


def _metadata(name: str, version: str, told: dict[str, str]) -> str:
    """JSON is YAML."""
    annotations = {f"dra-fleet/{key}": value for key, value in told.items()}
    body = {"apiVersion": "v2", "name": name, "version": version, "annotations": annotations}
    return json.dumps({**body, "description": "Stand-in for a driver's chart that is not known."})
