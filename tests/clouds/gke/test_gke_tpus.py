"""Published attributes of TPU chips by version of the driver. Requests for others match nothing.

Source: https://github.com/kubernetes-sigs/dra-driver-google-tpu/tree/v0.1.0,
cmd/tpu-dra-kubeletplugin/manager.go.
"""

from typing import Any

import pytest

from dra_fleet.proof.prove import prove
from tests.clouds.gke.gke_fleets import cluster, pool, tpu
from tests.fleet.plan.plan_helpers import planned, refused


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
