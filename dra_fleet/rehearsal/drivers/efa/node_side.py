"""AWS's DRANET on simulated machines."""

from typing import Final

from dra_fleet.rehearsal.drivers.efa.plugin import EfaPlugin
from dra_fleet.rehearsal.drivers.node_side import NodeSide

NODE_SIDE: Final = NodeSide(plugins=(EfaPlugin,))
