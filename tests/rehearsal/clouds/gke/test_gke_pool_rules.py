from typing import Any

import pytest

from dra_fleet.clouds.gke.simulation.account import metric
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from dra_fleet.rehearsal.simulator.errors import InvalidRequestError
from tests.rehearsal.clouds.gke.gke_project import Project

REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"machineType": "g2-standard-24"},
        {},
        "Machine type g2-standard-24 cannot have 1 x nvidia-l4; allowed: 2 x nvidia-l4",
    ),
    (
        {"machineType": "g2-standard-9"},
        {},
        (
            "Machine type with name 'g2-standard-9' is not known to the simulated Google Cloud; nearest: "
            "g2-standard-96, g2-standard-8, g2-standard-4. Add it to the catalogue of machines if it exists"
        ),
    ),
    (
        {},
        {"nodeLocations": ["europe-west4-a"]},
        "Node pool gpu: zone europe-west4-a is not in the cluster's region us-central1",
    ),
    (
        {"labels": {"kubernetes.io/role": "x"}},
        {},
        "Node pool gpu: label kubernetes.io/role is reserved for Kubernetes; choose another prefix",
    ),
    (
        {},
        {"autoscaling": {"totalMinNodeCount": 1, "totalMaxNodeCount": 2, "minNodeCount": 1}},
        "Node pool gpu: totalMaxNodeCount and minNodeCount cannot be used together",
    ),
    (
        {},
        {"autoscaling": {"totalMinNodeCount": 3, "totalMaxNodeCount": 2}},
        "Node pool gpu: totalMinNodeCount 3 is more than totalMaxNodeCount 2",
    ),
    (
        {"spot": True, "reservationAffinity": {"consumeReservationType": "ANY_RESERVATION"}},
        {},
        "Node pool gpu: reservation affinity ANY_RESERVATION cannot be used here; use NO_RESERVATION",
    ),
    (
        {"spot": True, "flexStart": True},
        {},
        "Node pool gpu: spot cannot be combined with flex-start or queued provisioning",
    ),
    (
        {"flexStart": True},
        {"management": {"autoRepair": True}},
        "Node pool gpu: flex-start needs management.autoRepair false",
    ),
    (
        {"flexStart": True},
        {"placementPolicy": {"type": "COMPACT"}},
        "Node pool gpu: flex-start allows compact placement only with A3 Ultra, A4 and H4D",
    ),
    (
        {},
        {"queuedProvisioning": {"enabled": True}, "placementPolicy": {"type": "COMPACT"}},
        "Node pool gpu: queued provisioning cannot be combined with compact placement",
    ),
    (
        {},
        {"placementPolicy": {"type": "COMPACT"}, "nodeLocations": ["us-central1-a", "us-central1-b"]},
        "Node pool gpu: compact placement needs exactly one zone",
    ),
    (
        {"reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION"}},
        {},
        "Node pool gpu: SPECIFIC_RESERVATION needs key compute.googleapis.com/reservation-name and values",
    ),
    (
        {},
        {"management": {"autoUpgrade": False}},
        "Node pool gpu: Auto_upgrade must be true when release_channel REGULAR is set",
    ),
]


@pytest.mark.parametrize(("config", "more", "text"), REFUSED)
def test_gke_refuses_a_pool(config: dict[str, Any], more: dict[str, Any], text: str, gke: Project) -> None:
    gke.cluster()
    with pytest.raises(CloudRefusal) as refused:
        gke.pool(config=config, **more)
    assert str(refused.value) == f"googleapi: Error 400: {text}, INVALID_ARGUMENT"


def test_a_quota_counts_all_pools_of_the_project(gke: Project) -> None:
    gke.cloud.configure({"limits": {"quotas": {"nvidia-l4": 2}}})
    gke.cluster()
    gke.pool("first")
    with pytest.raises(CloudRefusal) as refused:
        gke.pool("second", initialNodeCount=2)
    assert str(refused.value) == (
        "googleapi: Error 429: Insufficient quota to satisfy the request: quota NVIDIA_L4_GPUS exceeded, "
        "limit 2 in region us-central1, in use 1, requested 2. Ask for more quota, or for fewer nodes, "
        "RESOURCE_EXHAUSTED"
    )


@pytest.mark.parametrize("gone", ["us-central1-a", "g2-standard-8"])
def test_a_zone_may_have_no_machine_left(gone: str, gke: Project) -> None:
    gke.cloud.configure({"limits": {"stockOuts": [gone]}})
    gke.cluster()
    with pytest.raises(CloudRefusal, match="ZONE_RESOURCE_POOL_EXHAUSTED: The zone 'us-central1-a' does not"):
        gke.pool()


def test_limits_that_are_none_are_refused(gke: Project) -> None:
    with pytest.raises(InvalidRequestError, match="limits of the simulated Google Cloud are not valid"):
        gke.cloud.configure({"limits": {"quotas": {"nvidia-l4": -1}}})


def test_a_pool_needs_its_cluster(gke: Project) -> None:
    with pytest.raises(CloudRefusal, match="Not found: projects/ml/locations/us-central1/clusters/render"):
        gke.pool()


def test_a_quota_is_named_as_google_does() -> None:
    assert metric("nvidia-l4") == "NVIDIA_L4_GPUS"
    assert metric("tpu-v6e-slice") == "TPU_V6E_SLICE_CHIPS"
