"""dra-example-driver on simulated machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.drivers.example.simulation.plugin import (
    ExampleController,
    ExamplePlugin,
    recipes,
    start_problem,
)
from dra_fleet.rehearsal.drivers.node_side import NodeSide, OwnProgram

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.driver_pod import Start
    from dra_fleet.rehearsal.simulator.node import Host
    from dra_fleet.rehearsal.tools.recipes import Recipe


class ExampleProgram(OwnProgram):
    """The example driver's plugin, built from its module."""

    plugin = ExamplePlugin

    @override
    def recipes(self) -> Mapping[str, Recipe]:
        return recipes()


class ExampleNodes(NodeSide):
    """The example driver on simulated machines."""

    plugins = (ExamplePlugin,)
    programs = (ExampleController,)
    own = ExampleProgram()

    @override
    def start_problem(self, pod: Object, host: Host) -> Start | None:
        return start_problem(pod, host)


NODE_SIDE: Final = ExampleNodes()
