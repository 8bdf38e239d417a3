from typing import Any

import pytest

from dra_fleet.clusters.client import Object
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.drivers.nvidia.simulation.machine import installer_problem, is_installer, with_installed_driver
from dra_fleet.drivers.tpu.simulation.node_side import TpuPlugin
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed, StartFailed
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware
from dra_fleet.rehearsal.simulator.node import Host

COS = {
    "image": "cos",
    "driverRoot": "/home/kubernetes/bin/nvidia",
    "default": "580.126.9",
    "latest": "590.48.1",
}
FAILED = "Failed to install GPU driver: "


def host(**node: Any) -> Host:
    node = {"name": "n1", "machine": "g2-standard-8", **node}
    return ClusterHardware.model_validate({"kubernetes": "v1.36.3", "nodes": [node]}).hosts()[0]


def installer(
    image: str = "cos-nvidia-installer:fixed", *, latest: bool = False, ready: bool = True
) -> Object:
    command = ["bash", "-c", "/cos-gpu-installer install --version=latest"] if latest else []
    return {
        "metadata": {"name": "installer", "namespace": "kube-system"},
        "spec": {
            "nodeName": "n1",
            "initContainers": [{"name": "nvidia-driver-installer", "image": image, "command": command}],
            "containers": [{"name": "pause", "image": "gke.gcr.io/pause:3.8"}],
        },
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


def installed(host: Host) -> tuple[str, str] | None:
    driver = parts_of(host).nvidia
    return (driver.driver_version, driver.driver_root) if driver else None


@pytest.mark.parametrize(("latest", "version"), [(False, "580.126.9"), (True, "590.48.1")])
def test_a_ready_installer_leaves_the_driver_at_the_image_s_root(latest: bool, version: str) -> None:
    found = with_installed_driver(host(installable=COS), [installer(latest=latest)])
    assert installed(found) == (version, "/home/kubernetes/bin/nvidia")


def test_an_installer_that_still_works_leaves_nothing() -> None:
    assert installed(with_installed_driver(host(installable=COS), [installer(ready=False)])) is None


def test_a_pod_with_another_image_installs_nothing() -> None:
    pod = installer("busybox:1")
    assert not is_installer(pod)
    assert installed(with_installed_driver(host(installable=COS), [pod])) is None


def test_a_host_that_has_a_driver_keeps_it() -> None:
    before = host(nvidia={"driverVersion": "570.1.1"}, installable=COS)
    assert installed(with_installed_driver(before, [installer()])) == ("570.1.1", "/")


@pytest.mark.parametrize(
    ("node", "pod", "text"),
    [
        (
            {"installable": {**COS, "image": "ubuntu"}},
            installer(),
            "this installer is made for node image cos, the node runs ubuntu; use the DaemonSet for ubuntu",
        ),
        (
            {"installable": {**COS, "default": None}},
            installer(),
            "the image's default driver does not run on this GPU; install it with --version=latest",
        ),
        ({"machine": "ct6e-standard-4t"}, installer(), "no NVIDIA GPU was found on this node"),
        ({}, installer(), "this node's driver is managed by GKE"),
    ],
)
def test_an_installer_fails_on_nodes_it_is_not_made_for(node: dict[str, Any], pod: Object, text: str) -> None:
    assert installer_problem(pod, host(**node)) == f"{FAILED}{text}"
    assert installed(with_installed_driver(host(**node), [pod])) is None


def test_an_installer_that_fits_has_no_problem() -> None:
    image = "us.gcr.io/cos-cloud/cos-gpu-installer:v2.4.7"
    assert installer_problem(installer(image, latest=True), host(installable=COS)) is None


TPU_LABELS = {
    "cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
    "cloud.google.com/gke-accelerator-count": "4",
    "cloud.google.com/gke-tpu-topology": "2x2",
}
PLUGIN = TpuPlugin(
    {
        "name": "tpu-dra-plugin",
        "image": "registry.k8s.io/dra-driver-google/dra-driver-google-tpu:v0.1.0",
        "command": ["tpu-dra-kubeletplugin"],
    }
)


def tpu(**labels: str) -> list[Object]:
    return PLUGIN.devices(host(machine="ct6e-standard-4t", labels={**TPU_LABELS, **labels}))


def test_every_chip_is_a_device() -> None:
    devices = tpu()
    assert [device["name"] for device in devices] == ["0", "1", "2", "3"]
    attributes = devices[0]["attributes"]
    assert set(attributes) == {"index", "uuid", "tpuGen"}
    assert attributes["tpuGen"] == {"string": "v6e"}


def test_the_plugin_of_0_1_0_ends_on_chips_that_its_switch_does_not_name() -> None:
    with pytest.raises(StartFailed, match="enumerated tpu devices not equal to chipCount"):
        PLUGIN.devices(host(machine="tpu7x-standard-4t", labels=TPU_LABELS))


@pytest.mark.parametrize(
    ("count", "text"),
    [("", 'invalid TPU chip count ""'), ("8", "enumerated tpu devices not equal to chipCount")],
)
def test_a_wrong_count_stops_the_tpu_plugin(count: str, text: str) -> None:
    with pytest.raises(StartFailed, match=text):
        tpu(**{"cloud.google.com/gke-accelerator-count": count})


@pytest.mark.parametrize(("chips", "fails"), [(4, False), (2, True)])
def test_a_claim_gets_all_chips_of_a_node_or_none(chips: int, fails: bool) -> None:
    published = {device["name"]: device for device in tpu()}
    results = [
        {"request": "tpu", "driver": "tpu.google.com", "pool": "n1", "device": str(chip)}
        for chip in range(chips)
    ]
    claim = {"metadata": {}, "status": {"allocation": {"devices": {"results": results}}}}
    if not fails:
        PLUGIN.prepare(claim, published)
        return
    with pytest.raises(PrepareFailed, match="you must request all 4 chips on this node together"):
        PLUGIN.prepare(claim, published)
