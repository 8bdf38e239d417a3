"""The tables of a rehearsal, each headed SIMULATED."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from dra_fleet.cli.output import new_table

if TYPE_CHECKING:
    from rich.table import Table

    from dra_fleet.rehearsal.session import UpReport
    from dra_fleet.rehearsal.status import StackStatus

MOST_NAMES = 6
"""Devices of one node that are listed by name; more are summed up (`--json` has them all)."""


def pools_table(status: StackStatus, title: str, caption: str) -> Table:
    """One row per pool: its nodes, the devices they publish, and how many of those pods hold."""
    table = new_table(title, caption)
    for heading in ("Cluster", "Kubernetes", "Pool"):
        table.add_column(heading, overflow="fold")
    for heading in ("Nodes", "Devices published", "Devices held", "Claims allocated"):
        table.add_column(heading, justify="right", overflow="fold")
    for name, cluster in status.clusters.items():
        for pool_name, pool in cluster.allocation.pools.items():
            figures = (pool.nodes, pool.devices, pool.held, pool.claims)
            table.add_row(name, cluster.kubernetes, pool_name, *map(str, figures))
    return table


def workloads_table(status: StackStatus) -> Table:
    """One row per workload: copies that hold devices, where, and why one waits."""
    from rich.text import Text

    from dra_fleet.rehearsal.status import devices_by_node

    table = new_table("SIMULATED workloads")
    table.add_column("Cluster", overflow="fold")
    table.add_column("Workload", overflow="fold")
    table.add_column("Allocated", justify="right")
    table.add_column("Devices, or why a pod waits", overflow="fold")
    for cluster_name, cluster in status.clusters.items():
        for name, workload in cluster.allocation.workloads.items():
            held = workload.allocated >= workload.wanted
            count = Text(f"{workload.allocated} of {workload.wanted}", style="green" if held else "red")
            shown = workload.reason.sentence if workload.reason else _places(devices_by_node(workload))
            table.add_row(cluster_name, name, count, Text(shown))
    return table


def timings_table(report: UpReport) -> Table:
    """One row per part of the run: its seconds and its share."""
    table = new_table("Where the time went", f"{report.seconds:.1f} s")
    table.add_column("Part", overflow="fold")
    for heading in ("Seconds", "Share"):
        table.add_column(heading, justify="right")
    for item in report.timings:
        table.add_row(item.part, f"{item.seconds:.2f}", f"{item.share:.0%}")
    return table


def up_caption(report: UpReport) -> str:
    """What the engine did, in one line."""
    engine = report.engine
    counts = (
        _count(engine.changes, "change"),
        f"policy: {_count(len(engine.rules), 'rule')}, {_count(len(engine.findings), 'finding')}",
        f"kubernetes provider: {report.kubernetes_provider}",
        *(f"chart {name}: {origin}" for name, origin in report.charts.items()),
        *(f"driver {name}: {_served(by)}" for name, by in report.drivers.items()),
        f"{report.seconds:.1f} s",
    )
    return " · ".join(counts)


def _served(by: str) -> str:
    """What serves a driver; a program by its file's name."""
    return f"its own {PurePath(by).name}" if PurePath(by).is_absolute() else by


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _places(devices: dict[str, list[str]]) -> str:
    return "; ".join(f"{node}: {_names(names)}" for node, names in devices.items())


def _names(names: list[str]) -> str:
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    return f"{len(names)} devices, {names[0]} to {names[-1]}"
