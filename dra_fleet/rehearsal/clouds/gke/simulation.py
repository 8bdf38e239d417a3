"""How GKE is simulated."""

from __future__ import annotations

from typing import Final

from dra_fleet.rehearsal.clouds.gke.plugin import PLUGIN
from dra_fleet.rehearsal.clouds.simulation import CloudSimulation

SIMULATION: Final = CloudSimulation(
    simulated="dra_fleet.rehearsal.clouds.gke.cloud:SimulatedGke",
    limits="dra_fleet.rehearsal.clouds.gke.limits:GkeLimits",
    plugin=PLUGIN,
    helper="dra_fleet.rehearsal.clouds.gke.gke_gcloud_auth_plugin",
)
