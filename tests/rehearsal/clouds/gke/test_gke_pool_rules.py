from typing import Any

import pytest

from dra_fleet.clouds.gke.simulation.account import metric
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from dra_fleet.rehearsal.simulator.errors import InvalidRequestError
from tests.rehearsal.clouds.gke.gke_project import Project
from tests.rows import rows


@rows(__file__, "test_gke_refuses_a_pool", "config more text")
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
