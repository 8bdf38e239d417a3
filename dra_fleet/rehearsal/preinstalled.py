"""Installs what a simulated cluster has before any stack comes, as the hardware file says."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from dra_fleet.rehearsal import charts
from dra_fleet.rehearsal.errors import RehearsalError

if TYPE_CHECKING:
    from pathlib import Path

    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.world.hardware import ClusterHardware, InstalledChart

TIMEOUT = "300s"


def install_charts(home: Home, helm: Path, cluster: str, hardware: ClusterHardware) -> None:
    """Install the cluster's own charts with Helm and wait until their pods run; again changes nothing.

    Raises:
        RehearsalError: Helm refused; its own words.
    """
    for item in hardware.installed:
        _install(home, helm, cluster, item)


def _install(home: Home, helm: Path, cluster: str, item: InstalledChart) -> None:
    chart = charts.resolve(item.chart, item.version, home=home)
    options = ["--namespace", item.namespace, "--create-namespace", "--wait", "--timeout", TIMEOUT]
    done = subprocess.run(
        [str(helm), "upgrade", "--install", item.chart, str(chart), *options, "--values", "-"],
        env={"KUBECONFIG": str(home.clusters / cluster / "admin.kubeconfig"), "HOME": str(home.root)},
        input=json.dumps(item.values),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RehearsalError(
            f"cluster {cluster}: chart {item.chart} {item.version} of the hardware file cannot be installed: "
            + done.stderr.strip()
        )
