"""The TPU driver on simulated machines."""

from typing import Final

from dra_fleet.drivers.tpu.simulation.plugin import TpuPlugin
from dra_fleet.rehearsal.drivers.node_side import NodeSide


class TpuNodes(NodeSide):
    """The TPU driver on simulated machines."""

    plugins = (TpuPlugin,)


NODE_SIDE: Final = TpuNodes()
