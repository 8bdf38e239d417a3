from typing import Any

import pytest

from tests.clouds.aks.aks_fleets import cluster, mig, pool, values, vgpu
from tests.fleet.plan.plan_helpers import planned, refused

POOL = "clusters.studio.pools.gpu"
NEW: dict[str, Any] = {
    "vmSize": "Standard_NV6ads_A10_v6",
    "gpu": "A10-4Q",
    "gpus": 1,
    "cpus": 6,
    "memory": 55,
}


def test_a_machine_that_is_not_in_the_catalogue_gets_the_nearest_names_and_how_to_describe_it() -> None:
    fleet = vgpu()
    pool(fleet)["machine"] = "Standard_NV6ads_A10_v6"
    assert refused(fleet) == {
        f"{POOL}.machine": "is not a machine of the catalogue\n  got: Standard_NV6ads_A10_v6\n"
        "  allowed: Standard_NV6ads_A10_v5, Standard_NV36ads_A10_v5, Standard_NV36adms_A10_v5; 37 are known\n"
        "  fix: did you mean Standard_NV6ads_A10_v5? Or describe it in the stack file, with its own figures: "
        "machine: {vmSize: Standard_NV6ads_A10_v6, gpu: A100-PCIE-80GB, gpus: 1, cpus: 24, memory: 220}"
    }


def test_the_description_that_is_proposed_is_taken() -> None:
    fleet = vgpu()
    pool(fleet)["machine"] = {
        "vmSize": "Standard_NC24ads_A100_v9", "gpu": "A100-PCIE-80GB", "gpus": 1, "cpus": 24, "memory": 220,
    }  # fmt: skip
    machine = planned(fleet).clusters[0].pools[0].machine
    assert (machine.name, machine.cloud, machine.gpu_fraction) == ("Standard_NC24ads_A100_v9", "aks", None)


def test_a_machine_of_no_cloud_is_not_offered_by_azure() -> None:
    fleet = vgpu()
    pool(fleet)["machine"] = "hgx-h100-8"
    text = refused(fleet)[f"{POOL}.machine"]
    assert text.startswith(
        "is not a machine of the catalogue\n  got: hgx-h100-8\n  allowed: Standard_D16ds_v5, "
    )
    assert text.endswith(
        "  fix: describe it in the stack file, with its own figures: machine: {vmSize: "
        "Standard_NC24ads_A100_v4, gpu: A100-PCIE-80GB, gpus: 1, cpus: 24, memory: 220}"
    )


def test_a_described_machine_with_the_gpu_of_a_vgpu_is_a_vgpu() -> None:
    fleet = vgpu()
    pool(fleet)["machine"] = NEW
    [planned_pool] = planned(fleet).clusters[0].pools
    assert planned_pool.machine.gpu_fraction == "1/6"
    assert planned_pool.isolation.startswith("vGPU, 1/6 of a GPU: ")


def test_a_described_vgpu_needs_azure_s_own_driver_too() -> None:
    fleet = mig()
    pool(fleet).update({"machine": NEW, "sharing": {"strategy": "exclusive"}})
    assert refused(fleet) == {
        f"{POOL}.gpuDriver": "cannot be operator on Standard_NV6ads_A10_v6: its vGPU needs Azure's GRID "
        "driver\n  got: operator\n  allowed: aks\n  fix: set gpuDriver: aks"
    }


def test_a_described_vgpu_gets_no_compute_domain_plugin_either() -> None:
    fleet = vgpu()
    pool(fleet)["machine"] = NEW
    values(fleet, {"resources": {"computeDomains": {"enabled": True}}})
    assert list(refused(fleet)) == ["clusters.studio.drivers.nvidia.values.resources.computeDomains.enabled"]


def test_a_described_machine_has_a_gpu_of_the_catalogue() -> None:
    fleet = vgpu()
    pool(fleet)["machine"] = {**NEW, "gpu": "A10-6Q"}
    assert refused(fleet) == {
        f"{POOL}.machine.gpu": "is not a GPU model of the catalogue\n  got: A10-6Q\n"
        "  allowed: A10-8Q, A10-4Q, A10-2Q; 39 are known\n  fix: did you mean A10-8Q?"
    }


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        (
            {"gpuOperator": {"version": "v25.10"}},
            "clusters.studio.gpuOperator.version",
            (
                "is not a known version of the GPU Operator's chart\n  got: v25.10\n"
                "  allowed: v25.10.0, v26.7.0, v26.7.2\n  fix: did you mean v25.10.0?"
            ),
        ),
        (
            {"drivers": {"nvidia": {"version": "25.8"}}},
            "clusters.studio.drivers.nvidia.version",
            (
                "is not a version of the nvidia driver's chart\n  got: 25.8\n"
                "  allowed: 25.8.1, 25.3.2, 25.12.0, 0.4.0, 0.4.1, 0.5.0, 0.5.1\n  fix: did you mean 25.8.1?"
            ),
        ),
    ],
)
def test_a_version_that_is_not_known_gets_the_nearest(
    change: dict[str, Any], path: str, message: str
) -> None:
    fleet = mig()
    cluster(fleet).update(change)
    assert refused(fleet) == {path: message}
