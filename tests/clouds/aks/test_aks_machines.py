from typing import Any

from tests.clouds.aks.aks_fleets import mig, pool, vgpu
from tests.fleet.plan.plan_helpers import planned
from tests.fleet.plan.tables import Case, table

NEW: dict[str, Any] = {
    "vmSize": "Standard_NV6ads_A10_v6",
    "gpu": "A10-4Q",
    "gpus": 1,
    "cpus": 6,
    "memory": 55,
}


@table(__file__, vgpu, mig)
def test_plan(case: Case) -> None:
    case.verify()


def test_the_description_that_is_proposed_is_taken() -> None:
    fleet = vgpu()
    pool(fleet)["machine"] = {
        "vmSize": "Standard_NC24ads_A100_v9", "gpu": "A100-PCIE-80GB", "gpus": 1, "cpus": 24, "memory": 220,
    }  # fmt: skip
    machine = planned(fleet).clusters[0].pools[0].machine
    assert (machine.name, machine.cloud, machine.gpu_fraction) == ("Standard_NC24ads_A100_v9", "aks", None)


def test_a_described_machine_with_the_gpu_of_a_vgpu_is_a_vgpu() -> None:
    fleet = vgpu()
    pool(fleet)["machine"] = NEW
    [planned_pool] = planned(fleet).clusters[0].pools
    assert planned_pool.machine.gpu_fraction == "1/6"
    assert planned_pool.isolation.startswith("vGPU, 1/6 of a GPU: ")
