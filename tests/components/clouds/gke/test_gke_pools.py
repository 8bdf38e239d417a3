from typing import Any

import pytest

from dra_fleet.testing import Recorder
from tests.clouds.gke.gke_fleets import cluster, l4, pool, tpu
from tests.components.clouds.gke.gke_declared import INSTALLER, POOL, declare, every, fleet_plan
from tests.rows import rows


@pytest.mark.parametrize(
    ("owner", "version"),
    [("installer", "INSTALLATION_DISABLED"), ("external", "INSTALLATION_DISABLED"), ("gke", "DEFAULT")],
)
def test_gke_s_driver_installation_is_always_stated(owner: str, version: str, google: Recorder) -> None:
    fleet = l4()
    pool(fleet)["gpuDriver"] = owner
    if owner == "gke":
        cluster(fleet)["drivers"] = {"tpu": {"version": "0.1.0"}}
    declare(google, fleet_plan(fleet))
    accelerator = google.only(POOL, "render-gpu").inputs["nodeConfig"]["guestAccelerators"]
    assert accelerator == [
        {"type": "nvidia-l4", "count": 1, "gpuDriverInstallationConfig": {"gpuDriverVersion": version}}
    ]
    assert bool(every(google, INSTALLER)) is (owner == "installer")


def test_taints_that_gke_adds_are_not_declared(google: Recorder) -> None:
    fleet = l4()
    pool(fleet)["taints"] = [{"key": "team", "value": "ml", "effect": "NoExecute"}]
    declare(google, fleet_plan(fleet))
    config = google.only(POOL, "render-gpu").inputs["nodeConfig"]
    assert config["taints"] == [{"key": "team", "value": "ml", "effect": "NO_EXECUTE"}]


def test_a_tpu_pool_has_a_machine_type_and_no_accelerators(google: Recorder) -> None:
    declare(google, fleet_plan(tpu()))
    config = google.only(POOL, "render-gpu").inputs["nodeConfig"]
    assert config["machineType"] == "ct6e-standard-4t"
    assert "guestAccelerators" not in config


def test_a_machine_of_the_catalogue_is_its_machine_type_with_accelerators(google: Recorder) -> None:
    fleet = l4()
    pool(fleet)["machine"] = "n1-standard-16-2xt4"
    declare(google, fleet_plan(fleet))
    config = google.only(POOL, "render-gpu").inputs["nodeConfig"]
    assert config["machineType"] == "n1-standard-16"
    assert (config["guestAccelerators"][0]["type"], config["guestAccelerators"][0]["count"]) == (
        "nvidia-tesla-t4",
        2,
    )


@rows(__file__, "test_nodes_count_over_all_zones", "nodes zones requested")
def test_nodes_count_over_all_zones(
    nodes: dict[str, int], zones: int, requested: dict[str, Any], google: Recorder
) -> None:
    fleet = l4()
    pool(fleet).update(nodes=nodes, zones=["us-central1-a", "us-central1-b"][:zones])
    declare(google, fleet_plan(fleet))
    inputs = google.only(POOL, "render-gpu").inputs
    assert {key: inputs[key] for key in requested} == requested


def test_capacity_is_declared_in_google_s_words(google: Recorder) -> None:
    fleet = l4()
    pool(fleet).update(
        reservation={"consume": "SPECIFIC_RESERVATION", "names": ["mine"]},
        placement={"compact": True, "policy": "near"},
        maxRunDuration="3600s",
    )
    declare(google, fleet_plan(fleet))
    inputs = google.only(POOL, "render-gpu").inputs
    assert inputs["nodeConfig"]["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["mine"],
    }
    assert inputs["placementPolicy"] == {"type": "COMPACT", "policyName": "near"}
    assert inputs["nodeConfig"]["maxRunDuration"] == "3600s"


@rows(__file__, "test_a_pool_s_settings_reach_google", "change key requested")
def test_a_pool_s_settings_reach_google(
    change: dict[str, Any], key: str, requested: dict[str, Any], google: Recorder
) -> None:
    fleet = l4()
    pool(fleet).update(change)
    declare(google, fleet_plan(fleet))
    assert google.only(POOL, "render-gpu").inputs[key] == requested


@pytest.mark.parametrize(
    "change",
    [
        {"spot": True},
        {"flexStart": True, "autoRepair": False},
        {"queued": True, "nodes": {"min": 0, "max": 2}},
    ],
)
def test_capacity_that_cannot_be_reserved_says_that_it_takes_no_reservation(
    change: dict[str, Any], google: Recorder
) -> None:
    fleet = l4()
    pool(fleet).update(change)
    declare(google, fleet_plan(fleet))
    config = google.only(POOL, "render-gpu").inputs["nodeConfig"]
    assert config["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}


def test_a_slice_of_several_tpu_nodes_is_placed_as_one(google: Recorder) -> None:
    fleet = tpu()
    pool(fleet).update(placement={"topology": "4x4"}, nodes={"min": 4, "max": 4})
    declare(google, fleet_plan(fleet))
    inputs = google.only(POOL, "render-gpu").inputs
    assert inputs["placementPolicy"] == {"type": "COMPACT", "tpuTopology": "4x4"}
    assert inputs["nodeCount"] == 4


def test_without_a_channel_nothing_upgrades_by_itself(google: Recorder) -> None:
    fleet = l4()
    cluster(fleet)["upgrades"] = {"channel": "UNSPECIFIED"}
    declare(google, fleet_plan(fleet))
    assert google.only(POOL, "render-gpu").inputs["management"]["autoUpgrade"] is False
