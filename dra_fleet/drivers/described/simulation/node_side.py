"""Drivers that stack files describe on simulated machines."""

from typing import Final

from dra_fleet.drivers.described.simulation.hardware import DescribedNode
from dra_fleet.drivers.described.simulation.plugin import DescribedPlugin
from dra_fleet.rehearsal.drivers.node_side import NodeSide


class DescribedNodes(NodeSide):
    """Drivers that stack files describe on simulated machines."""

    plugins = (DescribedPlugin,)
    node_model = DescribedNode


NODE_SIDE: Final = DescribedNodes()
