"""dra-example-driver on simulated machines."""

from typing import Final

from dra_fleet.drivers.example.simulation.binaries import recipes
from dra_fleet.drivers.example.simulation.controller import ExampleController, start_problem
from dra_fleet.drivers.example.simulation.plugin import ExamplePlugin
from dra_fleet.rehearsal.drivers.node_side import NodeSide, OwnProgram

NODE_SIDE: Final = NodeSide(
    plugins=(ExamplePlugin,),
    programs=(ExampleController,),
    start_problem=start_problem,
    own=OwnProgram(plugin=ExamplePlugin, recipes=recipes),
)
