"""GKE fleets as the engine sees them, recorded."""

from typing import Any

import pulumi

from components.fleet import build
from dra_fleet.clouds.gke.settings import GkeClusterSettings
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.model.plan import FleetPlan
from dra_fleet.testing import Recorder, Registration

GET_CLUSTER = "gcp:container/getCluster:getCluster"
CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
INSTALLER = "kubernetes:apps/v1:DaemonSet"
RELEASE = "kubernetes:helm.sh/v3:Release"
COMPUTE_CLASS = "kubernetes:cloud.google.com/v1:ComputeClass"
COMPONENT = "dra-fleet:clouds:GkeCluster"
HOST = "gke-0123456789.us-central1.gke.goog"


def answered(dns: str = HOST) -> dict[str, Any]:
    """Return Google's answer for a cluster."""
    return {
        "endpoint": "10.0.0.2",
        "controlPlaneEndpointsConfigs": [
            {"dnsEndpointConfigs": [{"endpoint": dns}], "ipEndpointsConfigs": []}
        ],
        "masterAuths": [{"clusterCaCertificate": "Q0E="}],
    }


def no_secret(key: str) -> pulumi.Output[str]:
    raise AssertionError(f"the program asked for the secret {key}")


def declare(google: Recorder, plan: FleetPlan) -> None:
    settings = plan.clusters[0].settings
    assert isinstance(settings, GkeClusterSettings)
    google.run(lambda: build(plan, no_secret))


def fleet_plan(fleet: dict[str, Any]) -> FleetPlan:
    return make_plan(parse(fleet))


def every(google: Recorder, type_token: str) -> list[Registration]:
    return [entry for entry in google.registrations.values() if entry.type == type_token]
