"""How EKS is simulated."""

from __future__ import annotations

from typing import Final

from dra_fleet.rehearsal.clouds.eks.plugin import PLUGIN
from dra_fleet.rehearsal.clouds.simulation import CloudSimulation

SIMULATION: Final = CloudSimulation(
    simulated="dra_fleet.rehearsal.clouds.eks.cloud:SimulatedEks",
    limits="dra_fleet.rehearsal.clouds.eks.limits:EksLimits",
    plugin=PLUGIN,
    helper="dra_fleet.rehearsal.clouds.eks.aws",
)
