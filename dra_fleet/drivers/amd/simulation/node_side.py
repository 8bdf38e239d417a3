"""AMD's driver on simulated machines."""

from typing import Final

from dra_fleet.drivers.amd.simulation.plugin import AmdPlugin, kernel_driver_problem
from dra_fleet.rehearsal.drivers.node_side import NodeSide

NODE_SIDE: Final = NodeSide(plugins=(AmdPlugin,), waits_for=kernel_driver_problem)
