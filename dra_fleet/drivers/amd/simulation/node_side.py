"""AMD's driver on simulated machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.drivers.amd.simulation.plugin import AmdPlugin, kernel_driver_problem
from dra_fleet.rehearsal.drivers.node_side import NodeSide

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.world.node import Host


class AmdNodes(NodeSide):
    """AMD's driver on simulated machines."""

    plugins = (AmdPlugin,)

    @override
    def waits_for(self, container: Object, host: Host) -> str | None:
        return kernel_driver_problem(container, host)


NODE_SIDE: Final = AmdNodes()
