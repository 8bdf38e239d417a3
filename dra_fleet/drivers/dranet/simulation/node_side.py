"""DRANET on simulated machines."""

from typing import Final

from dra_fleet.drivers.dranet.simulation.plugin import DranetPlugin
from dra_fleet.rehearsal.drivers.node_side import NodeSide

NODE_SIDE: Final = NodeSide(plugins=(DranetPlugin,))
