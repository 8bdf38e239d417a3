"""DRANET on simulated machines."""

from typing import Final

from dra_fleet.drivers.dranet.simulation.hardware import EfaNode
from dra_fleet.drivers.dranet.simulation.plugin import DranetPlugin
from dra_fleet.rehearsal.drivers.node_side import NodeSide


class DranetNodes(NodeSide):
    """DRANET on simulated machines."""

    plugins = (DranetPlugin,)
    node_model = EfaNode


NODE_SIDE: Final = DranetNodes()
