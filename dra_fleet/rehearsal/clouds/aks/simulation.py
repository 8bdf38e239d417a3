"""How AKS is simulated."""

from __future__ import annotations

from typing import Final

from dra_fleet.rehearsal.clouds.aks.plugin import PLUGIN
from dra_fleet.rehearsal.clouds.simulation import CloudSimulation

SIMULATION: Final = CloudSimulation(
    simulated="dra_fleet.rehearsal.clouds.aks.cloud:SimulatedAks",
    limits="dra_fleet.rehearsal.clouds.aks.limits:AksLimits",
    plugin=PLUGIN,
    helper="dra_fleet.rehearsal.clouds.aks.kubelogin",
)
