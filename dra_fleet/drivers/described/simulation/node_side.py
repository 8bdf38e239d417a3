"""Drivers that stack files describe on simulated machines."""

from typing import Final

from dra_fleet.drivers.described.simulation.plugin import DescribedPlugin
from dra_fleet.rehearsal.drivers.node_side import NodeSide

NODE_SIDE: Final = NodeSide(plugins=(DescribedPlugin,))
