"""A simulated Azure: resource groups and AKS, as far as programs of GPU fleets need them.

Inputs are held to the models of azure-mgmt-containerservice; rules and grammar are those of the AKS
documentation (https://learn.microsoft.com/azure/aks/). Control planes are upgraded in place, nodes without
being drained. Not simulated: autoscaling (pools stay at their count), upgrades that start by themselves,
networks, identities and role assignments.
"""

from __future__ import annotations

from typing import Final

from dra_fleet.clouds.aks.simulation.plugin import PLUGIN
from dra_fleet.rehearsal.clouds.simulation import CloudSimulation

SIMULATION: Final = CloudSimulation(
    simulated="dra_fleet.clouds.aks.simulation.cloud:SimulatedAks",
    limits="dra_fleet.clouds.aks.simulation.limits:AksLimits",
    plugin=PLUGIN,
    helper="dra_fleet.clouds.aks.simulation.kubelogin",
)
