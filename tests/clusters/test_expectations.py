from pathlib import Path

from dra_fleet.clusters.preflight import expectations
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan

PROJECT = Path(__file__).resolve().parents[2]


def test_a_driver_managed_on_the_cluster_is_expected_to_publish() -> None:
    plan = make_plan(read_stack_file(PROJECT / "examples" / "existing-cluster.yaml").settings)
    requested = expectations(plan.clusters[0])
    assert (requested.installs, requested.uses) == ({}, ["gpu.nvidia.com"])


def test_a_driver_the_stack_installs_is_not_expected_before_it() -> None:
    plan = make_plan(read_stack_file(PROJECT / "tests" / "data" / "stacks" / "lab.yaml").settings)
    requested = expectations(plan.clusters[0])
    assert (requested.installs, requested.uses) == ({"gpu.nvidia.com": "dra-driver-nvidia-gpu"}, [])
    assert requested.pools["h100"] == ({"example.com/pool": "h100"}, 1)
