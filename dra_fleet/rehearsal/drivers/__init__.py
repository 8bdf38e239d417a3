"""The drivers' node plugins that a rehearsal can stand for, one file each.

A plugin is recognised by what its container would run, and decides from the container's own specification and
the host's hardware, as the real binary would. Adding a driver is one file and one row in `PLUGINS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.rehearsal.drivers.efa.plugin import EfaPlugin
from dra_fleet.rehearsal.drivers.example.plugin import ExamplePlugin
from dra_fleet.rehearsal.drivers.nvidia.compute_domain import ComputeDomainPlugin
from dra_fleet.rehearsal.drivers.nvidia.plugin import NvidiaGpuPlugin
from dra_fleet.rehearsal.drivers.tpu.plugin import TpuPlugin

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin

PLUGINS: tuple[type[NodePlugin], ...] = (
    NvidiaGpuPlugin,
    ComputeDomainPlugin,
    TpuPlugin,
    EfaPlugin,
    ExamplePlugin,
)


def plugins_of(pod: Object) -> list[NodePlugin]:
    """The node plugins that a pod's containers would run; empty for a pod that is no driver."""
    return [
        plugin(container)
        for container in pod["spec"]["containers"]
        for plugin in PLUGINS
        if plugin.runs_in(container)
    ]
