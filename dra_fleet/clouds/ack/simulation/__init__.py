"""A simulated Alibaba Cloud: ACK's managed clusters and node pools, and the network a fleet stands in.

Inputs are held to the published provider's, each with its place in ACK's own API (`fields.yaml`, which a test
compares with both); rules are those of the provider's pages and of the Help Center
(https://www.alibabacloud.com/help/en/ack/). Not simulated: autoscaling (pools stay at the size they begin
with), traffic in networks, what RAM policies allow, and cGPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.clouds.ack.simulation.plugin import PLUGIN
from dra_fleet.rehearsal.clouds.simulation import CloudSimulation

if TYPE_CHECKING:
    from types import ModuleType

    from dra_fleet.clouds.ack.simulation.cloud import SimulatedAck
    from dra_fleet.clouds.ack.simulation.limits import AckLimits
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.world.store import Store


class AckSimulation(CloudSimulation):
    """Parts of the simulation, which load on use."""

    plugin = PLUGIN

    @override
    def start(self, store: Store, planes: ManagedControlPlanes) -> SimulatedAck:
        from dra_fleet.clouds.ack.simulation.cloud import SimulatedAck

        return SimulatedAck(store, planes)

    @override
    def limits_model(self) -> type[AckLimits]:
        from dra_fleet.clouds.ack.simulation.limits import AckLimits

        return AckLimits

    @override
    def helper_module(self) -> ModuleType:
        from dra_fleet.clouds.ack.simulation import ack_ram_tool

        return ack_ram_tool


SIMULATION: Final = AckSimulation()
