"""Ends components in an order that lets each end well: those first that use others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.rehearsal.simulator.controlplane.components import API_SERVER, ETCD
from dra_fleet.rehearsal.simulator.processes import stop_processes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.simulator.processes import ProcessId

GRACE = 5.0
"""Seconds between asking and killing, per step. An API server that lost its etcd first would use them up."""


def end_components(recorded: Mapping[tuple[str, str], ProcessId]) -> None:
    """End processes by (cluster, component), also of several clusters at once. Blocks.

    Raises:
        psutil.AccessDenied: one of them belongs to another user.
    """
    last = (API_SERVER, ETCD)
    steps = [[process for (_, component), process in recorded.items() if component not in last]]
    steps += [[process for (_, name), process in recorded.items() if name == component] for component in last]
    for step in steps:
        stop_processes(step, grace=GRACE)
