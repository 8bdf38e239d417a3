from collections.abc import Callable
from typing import Any

import pytest

from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.proof.prove import prove
from tests.clouds.ack.ack_fleets import GIVEN, a10, adopted, cluster, pool
from tests.fleet.plan.plan_helpers import planned


def output(fleet: dict[str, Any]) -> str:
    with pytest.raises(SettingsInvalid) as caught:
        parse(fleet)
    return str(caught.value)


@pytest.mark.parametrize("fleet", [a10, adopted])
def test_a_cluster_is_made_or_adopted(fleet: Callable[[], dict[str, Any]]) -> None:
    settings: Any = parse(fleet()).clusters["asia"]
    assert settings.zones() == ("ap-southeast-1a", "ap-southeast-1b")


def test_a_cluster_is_not_both_made_and_adopted() -> None:
    fleet = adopted()
    cluster(fleet)["create"] = {"vswitches": GIVEN}
    assert "must have exactly one of create and adopt" in output(fleet)


def test_a_cluster_has_one_network() -> None:
    fleet = a10()
    cluster(fleet)["create"]["vswitches"] = GIVEN
    assert "must have exactly one of vswitches and network" in output(fleet)


def test_a_cluster_that_is_made_says_who_reaches_it() -> None:
    fleet = a10()
    del cluster(fleet)["access"]
    assert "must set the access to the API server" in output(fleet)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("version", "1.36.2"),
        ("version", "v1.36.2-aliyun.1"),
        ("version", "1.36.2-gke.1"),
        ("region", "Singapore"),
        ("account", "12"),
        ("registry", "https://mirror/ml"),
    ],
)
def test_a_value_of_another_form_is_refused(key: str, value: str) -> None:
    fleet = a10()
    cluster(fleet)[key] = value
    assert f"clusters.asia.{key}" in output(fleet)


@pytest.mark.parametrize(
    ("key", "value"),
    [("driverVersion", "newest"), ("image", "Windows"), ("reservation", "cr-1"), ("zones", ["A"])],
)
def test_a_pool_s_value_of_another_form_is_refused(key: str, value: object) -> None:
    fleet = a10()
    pool(fleet)[key] = value
    assert f"clusters.asia.pools.gpu.{key}" in output(fleet)


@pytest.mark.parametrize(
    ("machine", "gpus", "part"),
    [
        ("ecs.vgn7i-vws-m4.xlarge", 1, "1/6"),
        ("ecs.sgn7i-vws-m8.4xlarge", 1, "1/3"),
        ("ecs.sgn7i-vws-m2s.xlarge", 1, "1/12"),
        ("ecs.vgn6i-m4-vws.xlarge", 1, "1/4"),
        ("ecs.vgn6i-m8-vws.2xlarge", 1, "1/2"),
        ("ecs.vgn7i-vws-m24.7xlarge", 1, None),
        ("ecs.gn8v-tee-8x.48xlarge", 8, None),
        ("ecs.ebmgn7ex.32xlarge", 8, None),
    ],
)
def test_a_pod_gets_what_the_machine_has(machine: str, gpus: int, part: str | None) -> None:
    fleet = a10()
    cluster(fleet)["pools"]["gpu"] = {"machine": machine, "nodes": {"min": 1, "max": 1}}
    cluster(fleet)["drivers"]["nvidia"] = {"version": "0.5.0"}
    fleet["claims"] = {"all": {"requests": {"gpus": {"class": "gpu.nvidia.com", "count": gpus}}}}
    fleet["workloads"] = {"train": {"cluster": "asia", "claim": "all", "copies": 1}}
    plan = planned(fleet)
    [workload] = prove(plan).workloads
    assert workload.word == "guaranteed"
    assert plan.clusters[0].pools[0].machine.gpu_fraction == part
