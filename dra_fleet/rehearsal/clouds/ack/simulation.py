"""How ACK is simulated."""

from __future__ import annotations

from typing import Final

from dra_fleet.rehearsal.clouds.ack.plugin import PLUGIN
from dra_fleet.rehearsal.clouds.simulation import CloudSimulation

SIMULATION: Final = CloudSimulation(
    simulated="dra_fleet.rehearsal.clouds.ack.cloud:SimulatedAck",
    limits="dra_fleet.rehearsal.clouds.ack.limits:AckLimits",
    plugin=PLUGIN,
    helper="dra_fleet.rehearsal.clouds.ack.ack_ram_tool",
)
