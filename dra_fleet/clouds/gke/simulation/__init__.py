"""A simulated Google Cloud: GKE clusters and node pools, as far as programs of GPU fleets need them.

Inputs are held to the protobufs of google-cloud-container; rules and grammar are those of the GKE
documentation (https://cloud.google.com/kubernetes-engine/docs). Not simulated: autoscaling (pools stay at
their initial count), upgrades of a control plane in place, networks, identities, Dynamic Workload Scheduler.
"""

from __future__ import annotations

from typing import Final

from dra_fleet.clouds.gke.simulation.plugin import PLUGIN
from dra_fleet.rehearsal.clouds.simulation import CloudSimulation

SIMULATION: Final = CloudSimulation(
    simulated="dra_fleet.clouds.gke.simulation.cloud:SimulatedGke",
    limits="dra_fleet.clouds.gke.simulation.limits:GkeLimits",
    plugin=PLUGIN,
    helper="dra_fleet.clouds.gke.simulation.gke_gcloud_auth_plugin",
)
