"""How the made-up cloud is simulated."""

from __future__ import annotations

from typing import Final

from dra_fleet.rehearsal.clouds.simulation import CloudPlugin, CloudSimulation

SIMULATION: Final = CloudSimulation(
    simulated="meadow_cloud.simulated:SimulatedMeadow",
    limits="meadow_cloud.limits:MeadowLimits",
    plugin=CloudPlugin(name="meadow", version="1.0.0", settings=frozenset({"region"})),
    helper="meadow_cloud.meadow_login",
)
