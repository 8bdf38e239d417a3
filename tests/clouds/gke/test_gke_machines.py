from typing import Any

import pytest

from dra_fleet.clouds.gke import CLOUD
from dra_fleet.proof.prove import prove
from tests.clouds.gke.gke_fleets import cluster, pool, tpu
from tests.fleet.plan.plan_helpers import planned, refused

L4, A100, A100_80 = "nvidia-l4", "nvidia-tesla-a100", "nvidia-a100-80gb"
T4, H100, RTX = "nvidia-tesla-t4", "nvidia-h100-80gb", "nvidia-rtx-pro-6000"
GPUS = {
    **{f"g2-standard-{cpus}": (L4, 1) for cpus in (4, 8, 12, 16, 32)},
    **{f"g2-standard-{cpus}": (L4, gpus) for cpus, gpus in ((24, 2), (48, 4), (96, 8))},
    **{f"n1-standard-{cpus}-{gpus}xt4": (T4, gpus) for cpus, gpus in ((8, 1), (16, 2), (32, 4))},
    **{f"a2-highgpu-{gpus}g": (A100, gpus) for gpus in (1, 2, 4, 8)},
    "a2-megagpu-16g": (A100, 16),
    **{f"a2-ultragpu-{gpus}g": (A100_80, gpus) for gpus in (1, 2, 4, 8)},
    **{f"a3-highgpu-{gpus}g": (H100, gpus) for gpus in (1, 2, 4, 8)},
    "a3-edgegpu-8g": (H100, 8),
    "a3-megagpu-8g": ("nvidia-h100-mega-80gb", 8),
    "a3-ultragpu-8g": ("nvidia-h200-141gb", 8),
    "a4-highgpu-8g": ("nvidia-b200", 8),
    "a4x-highgpu-4g": ("nvidia-gb200", 4),
    "a4x-maxgpu-4g-metal": ("nvidia-gb300", 4),
    **{f"g4-standard-{cpus}": (RTX, 1) for cpus in (6, 12, 24)},
    **{f"g4-standard-{cpus}": (RTX, gpus) for cpus, gpus in ((48, 1), (96, 2), (192, 4), (384, 8))},
}
"""https://cloud.google.com/compute/docs/accelerator-optimized-machines"""
FRACTIONS = {"g4-standard-6": "1/8", "g4-standard-12": "1/4", "g4-standard-24": "1/2"}
PRICES = {
    "g4-standard-6": 0.65,
    "g4-standard-12": 1.29,
    "g4-standard-24": 2.59,
    "g4-standard-48": 4.5,
    "g4-standard-96": 9.0,
    "g4-standard-192": 18.0,
    "g4-standard-384": 36.0,
    "a2-highgpu-1g": 3.67,
    "a2-highgpu-2g": 7.35,
    "a2-highgpu-4g": 14.69,
    "a2-highgpu-8g": 29.39,
    "a2-megagpu-16g": 55.74,
    "a3-highgpu-1g": 10.98,
    "a3-highgpu-2g": 21.96,
    "a3-highgpu-4g": 43.92,
    "a3-highgpu-8g": 87.83,
    "ct5lp-hightpu-1t": 1.2,
    "ct5lp-hightpu-4t": 4.8,
    "ct5lp-hightpu-8t": 9.6,
    "ct5p-hightpu-4t": 16.8,
    "g2-standard-4": 0.7068,
    "g2-standard-8": 0.8536,
    "g2-standard-12": 1.0004,
    "g2-standard-16": 1.1472,
    "g2-standard-32": 1.7344,
    "g2-standard-24": 2.0008,
    "g2-standard-48": 4.0017,
    "g2-standard-96": 8.0033,
    "a2-ultragpu-1g": 5.0688,
    "a2-ultragpu-2g": 10.1376,
    "a2-ultragpu-4g": 20.2752,
    "a2-ultragpu-8g": 40.5504,
    "a3-megagpu-8g": 92.9376,
    "ct6e-standard-1t": 2.7,
    "ct6e-standard-4t": 10.8,
    "ct6e-standard-8t": 21.6,
}
"""USD per hour on demand, from the lists that machines.yaml names as sources."""


def test_every_machine_with_gpus_is_there_with_its_accelerators() -> None:
    machines = [item for item in CLOUD.machines.values() if item.gpus]
    assert {item.name: (item.accelerator, item.gpus) for item in machines} == GPUS


def test_parts_of_gpus_are_known_as_parts() -> None:
    machines = list(CLOUD.machines.values())
    assert {item.name: str(item.gpu_fraction) for item in machines if item.gpu_fraction} == FRACTIONS


def test_prices_are_those_that_are_public_and_no_others() -> None:
    machines = list(CLOUD.machines.values())
    assert {item.name: item.price.per_hour for item in machines if item.price is not None} == PRICES


def asking(clause: str, version: str) -> dict[str, Any]:
    fleet = tpu()
    cluster(fleet)["drivers"] = {"tpu": {"version": version}}
    fleet["classes"] = {"chips": {"cel": ["device.driver == 'tpu.google.com'", clause]}}
    fleet["claims"]["node"]["requests"]["tpu"]["class"] = "chips"
    return fleet


def word(fleet: dict[str, Any]) -> str:
    [only] = prove(planned(fleet)).workloads
    return only.word


@pytest.mark.parametrize(
    "clause",
    [
        "device.attributes['tpu.google.com'].accelerator == 'tpu-v6e-slice'",
        "device.attributes['tpu.google.com'].topology == '2x2'",
        "device.attributes['tpu.google.com'].chipCount == 4",
    ],
)
def test_0_1_0_publishes_neither_accelerator_nor_topology_nor_chip_count(clause: str) -> None:
    [only] = prove(planned(asking(clause, "0.1.0"))).workloads
    assert only.word == "error"
    assert "no such key" in only.reason
    assert word(asking(clause, "0.2.0")) == "unknown"


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0"])
def test_the_generation_is_published_by_every_tag(version: str) -> None:
    assert word(asking("device.attributes['tpu.google.com'].tpuGen == 'v6e'", version)) == "guaranteed"


def test_0_1_0_ends_on_ironwood_whose_files_its_switch_does_not_name() -> None:
    fleet = tpu()
    pool(fleet)["machine"] = "tpu7x-standard-4t"
    output = refused(fleet)
    assert output["clusters.render.drivers.tpu"].startswith(
        "finds no chip on the nodes of pool gpu in version 0.1.0: its plugin ends there, and no device is "
        "published\n  got: tpu7x\n"
    )
    cluster(fleet)["drivers"]["tpu"]["version"] = "0.2.0"
    [only] = prove(planned(fleet)).workloads
    assert only.word == "unknown"
    assert "whether the driver finds the chips of such a machine is not known" in only.reason


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0"])
def test_device_status_is_a_value_of_neither_tag(version: str) -> None:
    fleet = tpu()
    cluster(fleet)["drivers"]["tpu"] = {"version": version, "values": {"deviceStatus": True}}
    [output] = refused(fleet).items()
    assert output[0] == "clusters.render.drivers.tpu.values.deviceStatus"
    assert output[1].startswith(f"is not a value of chart {version}; Helm would ignore it silently")
