"""How the made-up cloud is simulated."""

from __future__ import annotations

from typing import Final

from dra_fleet.rehearsal.clouds.simulation import CloudPlugin, CloudSimulation

SIMULATION: Final = CloudSimulation(
    simulated="tests.contracts.made_up.cloud.simulated:SimulatedMeadow",
    limits="tests.contracts.made_up.cloud.limits:MeadowLimits",
    plugin=CloudPlugin(name="meadow", version="1.0.0", settings=frozenset({"region"})),
    helper="tests.contracts.made_up.cloud.meadow_login",
)
