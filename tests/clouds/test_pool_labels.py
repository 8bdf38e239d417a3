from typing import Any

import pytest

from tests.clouds.aks.aks_fleets import cluster, vgpu
from tests.clouds.gke.gke_fleets import l4
from tests.fleet.plan.plan_helpers import planned
from tests.fleet.plan.tables import Case, table


def labelled(advertise: str, key: str, value: str, *, operated: bool = True) -> dict[str, Any]:
    fleet = vgpu()
    shared = {"machine": "Standard_NC24ads_A100_v4", "nodes": {"min": 1, "max": 1}}
    cluster(fleet)["pools"] = {
        name: {**shared, "advertise": name, "labels": {key: value} if name == advertise else {}}
        for name in ("dra", "device-plugin")
    }
    if operated:
        cluster(fleet)["gpuOperator"] = {"version": "v25.10.0"}
    return fleet


def needing(advertise: str, label: str) -> dict[str, Any]:
    """Both pools have their GPU driver from the operator, the one of DRA its partitions too."""
    operand, _, value = label.partition(": ")
    fleet = labelled(advertise, f"nvidia.com/gpu.deploy.{operand}", value)
    pools = cluster(fleet)["pools"]
    pools["dra"]["sharing"] = {"strategy": "mig", "layout": {"1g.10gb": 7}}
    for pool in pools.values():
        pool["gpuDriver"] = "operator"
    return fleet


def operated() -> dict[str, Any]:
    return labelled("neither", "", "")


def divided() -> dict[str, Any]:
    return needing("neither", "")


@table(__file__, operated, divided, vgpu, l4)
def test_plan(case: Case) -> None:
    case.verify()


@pytest.mark.parametrize(
    ("advertise", "label"),
    [("dra", "operands: no"), ("dra", "dcgm-exporter: false"), ("device-plugin", "mig-manager: false")],
)
def test_a_pool_does_without_other_pods_of_the_operator(advertise: str, label: str) -> None:
    assert len(planned(needing(advertise, label)).clusters[0].pools) == 2


def test_a_pool_whose_image_includes_the_driver_needs_none_of_the_operator_s_pods() -> None:
    fleet = labelled("dra", "nvidia.com/gpu.deploy.operands", "false")
    pools = cluster(fleet)["pools"]
    pools.pop("device-plugin")
    assert planned(fleet).clusters[0].pools[0].gpu_driver == "host"


@pytest.mark.parametrize("key", ["nvidia.com/gpu.product", "example.com/team"])
def test_without_an_operator_no_one_else_writes_them(key: str) -> None:
    fleet = labelled("dra", key, "a100", operated=False)
    cluster(fleet)["pools"].pop("device-plugin")
    [pool] = planned(fleet).clusters[0].pools
    assert pool.labels[key] == "a100"
