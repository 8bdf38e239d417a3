"""Installs what a simulated cluster has before any stack comes, as the hardware file says."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from dra_fleet.rehearsal.environment import network
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.registry import addresses

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
    address = next((one for one in addresses.known() if one.chart == item.chart), None)
    if address is None:
        known = ", ".join(sorted({one.chart for one in addresses.known()}))
        raise RehearsalError(
            f"cluster {cluster}: unknown chart {item.chart} in the hardware file; known: {known}"
        )
    options = ["--namespace", item.namespace, "--create-namespace", "--wait", "--timeout", TIMEOUT]
    done = subprocess.run(
        [
            *(str(helm), "upgrade", "--install", item.chart, *address.arguments),
            *("--version", item.version, *options, "--values", "-"),
        ],
        env={
            "KUBECONFIG": str(home.clusters / cluster / "admin.kubeconfig"),
            "HOME": str(home.root),
            **network(home),
        },
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
