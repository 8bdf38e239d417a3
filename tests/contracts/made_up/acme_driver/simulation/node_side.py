"""Simulation of a made-up driver: it publishes a lane for every 16 CPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from dra_fleet.rehearsal.drivers.node_side import NodeSide
from dra_fleet.rehearsal.drivers.plugin import NodePlugin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.simulator.node import Host


class LanePlugin(NodePlugin):
    """Publishes the lanes of a host."""

    command: ClassVar[str] = "acme-lane-plugin"

    @property
    @override
    def driver(self) -> str:
        return "lanes.acme.example"

    @override
    def devices(self, host: Host) -> list[Object]:
        return [
            {
                "name": f"lane-{number}",
                "attributes": {"model": {"string": "Lane 3"}, "serial": {"string": f"{host.name}-{number}"}},
                "capacity": {"memory": {"value": "4Gi"}},
            }
            for number in range(int(host.cpu) // 16)
        ]

    @override
    def prepare(self, claim: Object, published: dict[str, Object], beside: Sequence[Object] = ()) -> None:
        del beside
        self.require_published(claim, published)


class LaneNodes(NodeSide):
    plugins = (LanePlugin,)


NODE_SIDE: Final = LaneNodes()
