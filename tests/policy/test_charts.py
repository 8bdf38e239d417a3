import hashlib
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.core.declared.resources import Resource, Stack
from dra_fleet.policy.checking import check_resource
from dra_fleet.policy.reading.advertisers import advertisers
from dra_fleet.policy.reading.charts import ChartRelease, releases
from policies.rules.device_class import FORBID_CHART_NAMES as CHART_NAMES

RELEASE = "kubernetes:helm.sh/v3:Release"
CLASS = "kubernetes:resource.k8s.io/v1:DeviceClass"


def resource(kind: str, properties: dict[str, Any], above: str = "") -> Resource:
    return Resource(
        type=kind, name="r", urn=f"urn:pulumi:dev::other::{above}{kind}::r", read=lambda: properties
    )


def of_chart(**properties: Any) -> list[ChartRelease]:
    return list(releases(resource(RELEASE, properties)))


def daemon_set(container: dict[str, Any], **pods: Any) -> Resource:
    spec = {"containers": [container], **pods}
    return resource("kubernetes:apps/v1:DaemonSet", {"spec": {"template": {"spec": spec}}})


@pytest.mark.parametrize("component", ["kubernetes:helm.sh/v3:Chart", "kubernetes:helm.sh/v4:Chart"])
def test_a_class_that_a_chart_renders_is_the_chart_s_own(component: str) -> None:
    properties = {"metadata": {"name": "gpu.nvidia.com"}}
    settings = CHART_NAMES.settings({})
    assert check_resource(CHART_NAMES, resource(CLASS, properties, f"{component}$"), settings) == []
    assert len(check_resource(CHART_NAMES, resource(CLASS, properties), settings)) == 1


def test_a_local_chart_is_what_its_chart_yaml_says(tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text("name: dra-driver-nvidia-gpu\nversion: 0.4.1\n", encoding="utf-8")
    (found,) = of_chart(chart=str(tmp_path), version="0.5.0")
    assert (found.chart_name, found.version_text) == ("dra-driver-nvidia-gpu", "0.4.1")


def test_a_local_chart_includes_its_dependencies_with_their_values(tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text(
        "name: gpus\nversion: 1.0.0\ndependencies: [{name: gpu-operator, version: v26.7.0, alias: op}]\n",
        encoding="utf-8",
    )
    own, brought = of_chart(chart=str(tmp_path), values={"op": {"driver": {"enabled": False}}})
    assert (own.chart_name, brought.chart_name, brought.version_text) == ("gpus", "gpu-operator", "26.7.0")
    assert brought.value("driver.enabled").flag is False


def test_a_missing_local_chart_is_named_by_its_folder(tmp_path: Path) -> None:
    (found,) = of_chart(chart=str(tmp_path / "dra-driver-nvidia-gpu"))
    assert found.chart_name == "dra-driver-nvidia-gpu"


def test_a_file_of_values_is_read_below_the_values(tmp_path: Path) -> None:
    text = b"resources: {gpus: {enabled: false}, computeDomains: {enabled: false}}\n"
    (tmp_path / "values.yaml").write_bytes(text)
    file = {"path": str(tmp_path / "values.yaml"), "hash": hashlib.sha256(text).hexdigest()}
    values = {"resources": {"gpus": {"enabled": True}}}
    (found,) = of_chart(chart="dra-driver-nvidia-gpu", valueYamlFiles=[file], values=values)
    assert found.value("resources.gpus.enabled").flag is True
    assert found.value("resources.computeDomains.enabled").flag is False
    assert found.unread == ()


def test_a_file_that_was_changed_since_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("a: 1\n", encoding="utf-8")
    file = {"path": str(tmp_path / "values.yaml"), "hash": "0" * 64}
    (found,) = of_chart(chart="dra-driver-nvidia-gpu", valueYamlFiles=[file])
    assert [value.place for value in found.unread] == ["valueYamlFiles[0]"]


@pytest.mark.parametrize(
    ("container", "pods"),
    [
        ({"image": "rocm/k8s-device-plugin:1.31"}, {}),
        ({"image": "mirror.example/k8s-device-plugin:1.31"}, {"nodeSelector": {"amd.com/gpu": "true"}}),
        ({"image": "mirror.example/rocm/k8s-device-plugin"}, {}),
        ({"image": "intel/intel-gpu-plugin:0.32.0"}, {}),
        ({"image": "nvcr.io/nvidia/k8s-device-plugin:v0.18.0", "command": ["gpu-feature-discovery"]}, {}),
        ({"image": "nvcr.io/nvidia/k8s-device-plugin:v0.18.0", "command": ["mps-control-daemon"]}, {}),
        ({"image": "x", "command": ["bash", "-c"], "args": ["compute-domain-kubelet-plugin -v 4"]}, {}),
        ({"image": "x", "env": [{"name": "MIG_STRATEGY", "value": "single"}]}, {}),
    ],
)
def test_components_without_gpus_of_this_vendor_are_no_advertisers(
    container: dict[str, Any], pods: dict[str, Any]
) -> None:
    found = advertisers(Stack(resources=[daemon_set(container, **pods)]))
    assert [each for each in found if each.driver.name == "nvidia"] == []


SOCKETS = {"volumes": [{"name": "s", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}]}


@pytest.mark.parametrize(
    ("kind", "container", "pods"),
    [
        ("plugin", {"image": "mirror.example/team/k8s-device-plugin:v0.18.0"}, {}),
        ("plugin", {"image": "mirror.example/k8s-device-plugin"}, {"nodeSelector": {"a": "amd64"}}),
        ("plugin", {"image": "mirror.example/gpus:1", "command": ["nvidia-device-plugin"]}, {}),
        (
            "plugin",
            {"image": "mirror.example/gpus:1", "command": ["sh", "-c", "exec nvidia-device-plugin"]},
            {},
        ),
        ("plugin", {"image": "mirror.example/gpus:1", "env": [{"name": "MIG_STRATEGY"}]}, SOCKETS),
        ("plugin", {"image": "gke.gcr.io/nvidia-gpu-device-plugin@sha256:0"}, {}),
        ("dra", {"image": "mirror.example/gpus:1", "command": ["gpu-kubelet-plugin"]}, {}),
        ("dra", {"image": "mirror.example/gpus:1", "args": ["/usr/bin/gpu-kubelet-plugin -v 4"]}, {}),
    ],
)
def test_a_mirrored_image_is_known_by_what_it_runs(
    kind: str, container: dict[str, Any], pods: dict[str, Any]
) -> None:
    assert [each.kind for each in advertisers(Stack(resources=[daemon_set(container, **pods)]))] == [kind]
