"""The TPU driver on simulated machines."""

from typing import Final

from dra_fleet.rehearsal.drivers.node_side import NodeSide
from dra_fleet.rehearsal.drivers.tpu.plugin import TpuPlugin

NODE_SIDE: Final = NodeSide(plugins=(TpuPlugin,))
