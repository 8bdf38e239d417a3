"""Every chart version of the catalogue has a stand-in: its values, its classes, and its devices."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from dra_fleet import drivers
from dra_fleet.drivers.nvidia.driver import DRIVER as NVIDIA
from dra_fleet.rehearsal.charts import stand_ins
from tests.rehearsal.agent.agent_cluster import DRIVER, GPUS, PRESENT, RESOURCE_API, AgentCluster, machine
from tests.rehearsal.charts.test_chart_25_8_1 import leaves

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine_support import RehearsalWorld

    Object = dict[str, Any]

VERSIONS = [entry.version for entry in NVIDIA.facts.versions]
ON = ("--set", "gpuResourcesEnabledOverride=true")


def entry_of(version: str) -> ChartVersion:
    entry = NVIDIA.facts.version(version)
    assert entry is not None
    return entry


def chart_of(entry: ChartVersion) -> Path:
    return stand_ins()[entry.chart.rpartition("/")[2], entry.version]


def read(file: Path) -> Object:
    return cast("Object", yaml.safe_load(file.read_text()))


@pytest.mark.parametrize("driver", list(drivers.BUILT_IN))
def test_every_version_of_a_driver_s_chart_has_a_stand_in(driver: str) -> None:
    found = drivers.named(driver)
    assert found is not None
    assert found.facts.versions
    for entry in found.facts.versions:
        assert read(chart_of(entry) / "Chart.yaml")["version"] == entry.version


CHARTS = [
    pytest.param(entry, id=f"{driver.name} {entry.version}")
    for driver in filter(None, map(drivers.named, drivers.BUILT_IN))
    for entry in driver.facts.versions
]
NOT_OF_THE_CATALOGUE = {
    # Helm's own, and one that only rehearsals set.
    "0.5.0": {"global", "maskNvidiaDriverParams"},
}
WITHOUT_DEFAULT = {"v1.4.0": "args."}
"""Of DRANET's daemon: https://github.com/kubernetes-sigs/dranet/blob/v1.4.0/deployments/helm/dranet/values.yaml."""


@pytest.mark.parametrize("entry", CHARTS)
def test_the_schema_and_the_defaults_have_the_values_of_the_catalogue(entry: ChartVersion) -> None:
    chart = chart_of(entry)
    schema = cast("Object", json.loads((chart / "values.schema.json").read_text()))
    assert leaves(schema) == set(entry.values) | NOT_OF_THE_CATALOGUE.get(entry.version, set())
    held = read(chart / "values.yaml")
    without = WITHOUT_DEFAULT.get(entry.version, " ")
    for key in (key for key in entry.values if not key.startswith(without)):
        here: Any = held
        for part in key.split("."):
            assert part in here, key
            here = here[part]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_defaults_place_pods_as_the_catalogue_says(version: str) -> None:
    entry = entry_of(version)
    values = read(chart_of(entry) / "values.yaml")
    assert values["kubeletPlugin"]["tolerations"] == [dict(item) for item in entry.plugin_tolerations]
    needed = (
        "requiredDuringSchedulingIgnoredDuringExecution" in values["controller"]["affinity"]["nodeAffinity"]
    )
    assert needed == entry.controller_needs_control_plane


@pytest.mark.engine
@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_renders_its_classes_and_its_images(tools: Toolset, version: str) -> None:
    entry = entry_of(version)
    server = ("--kube-version", "1.36.3", "--api-versions", "resource.k8s.io/v1", "--namespace", "drivers")
    command = [str(tools.helm), "template", "release", str(chart_of(entry)), *server, *ON]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    objects: list[Object] = [item for item in yaml.safe_load_all(text) if item]
    classes = {item["metadata"]["name"]: item["spec"] for item in objects if item["kind"] == "DeviceClass"}
    assert set(classes) == set(entry.classes)
    named = {spec.get("extendedResourceName"): name for name, spec in classes.items()}
    assert {key: name for key, name in named.items() if key} == dict(entry.extended_resources)
    (plugin,) = (item["spec"]["template"]["spec"] for item in objects if item["kind"] == "DaemonSet")
    for container in plugin["containers"]:
        assert container["image"].endswith(f":v{version}")
        assert all("value" in item or "valueFrom" in item for item in container["env"])


@pytest.fixture(scope="module")
def cluster(rehearsal_world: RehearsalWorld, tools: Toolset) -> Iterator[AgentCluster]:
    """One machine with GPUs and no driver."""
    made = rehearsal_world.new_cluster(
        {
            "kubernetes": "v1.36.3",
            "sliceWipingSeconds": 2,
            "nodes": [machine("whole", PRESENT, gpus=GPUS, nvidia=DRIVER)],
        }
    )
    yield AgentCluster(cluster=made, helm_binary=tools.helm)
    rehearsal_world.remove(made)


@pytest.mark.engine
@pytest.mark.parametrize("version", [version for version in VERSIONS if version not in ("25.8.1", "0.5.0")])
def test_a_version_is_installed_and_publishes_the_devices_of_its_time(
    cluster: AgentCluster, version: str
) -> None:
    chart = str(chart_of(entry_of(version)))
    only = ("--set", "resources.computeDomains.enabled=false")
    release = ("nvidia", "--namespace", "nvidia-dra-driver")

    cluster.helm("install", release[0], chart, *release[1:], "--create-namespace", *ON, *only)

    def devices(slices: list[Object]) -> list[Object] | None:
        return [device for item in slices for device in item["spec"].get("devices", [])] or None

    published = cluster.until("devices", (RESOURCE_API, "ResourceSlice"), devices)
    assert sorted(device["name"] for device in published) == ["gpu-0", "gpu-1"]
    known = NVIDIA.facts.attributes_in(version)
    assert all(set(device["attributes"]) <= known for device in published)

    cluster.helm("uninstall", *release, "--wait")
    cluster.until("slices gone", (RESOURCE_API, "ResourceSlice"), lambda slices: not slices)
