"""A simulated Alibaba Cloud: ACK's managed clusters and node pools, and the network a fleet stands in.

Inputs are held to the published provider's, each with its place in ACK's own API (`fields.yaml`, which a test
compares with both); rules are those of the provider's pages and of the Help Center
(https://www.alibabacloud.com/help/en/ack/). Not simulated: autoscaling (pools stay at the size they begin
with), traffic in networks, what RAM policies allow, and cGPU.
"""

from __future__ import annotations

from typing import Final

from dra_fleet.clouds.ack.simulation.plugin import PLUGIN
from dra_fleet.rehearsal.clouds.simulation import CloudSimulation

SIMULATION: Final = CloudSimulation(
    simulated="dra_fleet.clouds.ack.simulation.cloud:SimulatedAck",
    limits="dra_fleet.clouds.ack.simulation.limits:AckLimits",
    plugin=PLUGIN,
    helper="dra_fleet.clouds.ack.simulation.ack_ram_tool",
)
