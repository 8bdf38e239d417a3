"""The stand-in of the NVIDIA driver's chart 25.8.1: what sets it apart from 0.5.0."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from dra_fleet.drivers.nvidia.driver import DRIVER
from dra_fleet.rehearsal.charts import stand_ins

if TYPE_CHECKING:
    from dra_fleet.rehearsal.tools import Toolset

CHART = stand_ins()["nvidia-dra-driver-gpu", "25.8.1"]
GPUS = ("gpuResourcesEnabledOverride=true",)
CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}
PLUGIN_LABELS = {
    "feature.node.kubernetes.io/pci-10de.present": ["true"],
    "feature.node.kubernetes.io/cpu-model.vendor_id": ["NVIDIA"],
    "nvidia.com/gpu.present": ["true"],
}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def leaves(schema: dict[str, Any], prefix: str = "") -> set[str]:
    """Dotted keys down to where the schema leaves the inside free; every level above is closed."""
    if "properties" not in schema:
        return {prefix.removesuffix(".")}
    assert schema["additionalProperties"] is False
    return {
        key for name, inside in schema["properties"].items() for key in leaves(inside, f"{prefix}{name}.")
    }


def values() -> dict[str, Any]:
    return cast("dict[str, Any]", yaml.safe_load((CHART / "values.yaml").read_text()))


def terms(affinity: dict[str, Any]) -> list[dict[str, Any]]:
    """The one expression of each alternative that a node must meet."""
    alternatives = affinity["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    return [expression for term in alternatives for expression in term["matchExpressions"]]


def helm(tools: Toolset, *settings: str) -> subprocess.CompletedProcess[str]:
    server = ("--kube-version", "1.35.0", "--api-versions", "resource.k8s.io/v1", "--namespace", "drivers")
    sets = [part for setting in settings for part in ("--set", setting)]
    command = [str(tools.helm), "template", "release", str(CHART), *server, *sets]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_the_schema_allows_exactly_the_values_of_the_catalogue() -> None:
    schema = cast("dict[str, Any]", json.loads((CHART / "values.schema.json").read_text()))
    entry = DRIVER.facts.version("25.8.1")
    assert entry is not None
    assert leaves(schema) == set(entry.values)


def test_the_plugin_runs_on_three_labels_and_tolerates_nothing() -> None:
    plugin = values()["kubeletPlugin"]
    assert {term["key"]: term["values"] for term in terms(plugin["affinity"])} == PLUGIN_LABELS
    assert plugin["tolerations"] == []


def test_the_controller_runs_on_control_plane_nodes_only() -> None:
    assert terms(values()["controller"]["affinity"]) == [CONTROL_PLANE]


@pytest.mark.engine
def test_all_parts_are_rendered_with_the_classes_of_25_8(tools: Toolset) -> None:
    done = helm(tools, *GPUS, "featureGates.MPSSupport=true")
    assert done.stderr == ""
    objects: list[dict[str, Any]] = [item for item in yaml.safe_load_all(done.stdout) if item]
    classes = {item["metadata"]["name"]: item for item in objects if item["kind"] == "DeviceClass"}
    entry = DRIVER.facts.version("25.8.1")
    assert entry is not None
    assert set(classes) == set(entry.classes)
    assert {item["apiVersion"] for item in classes.values()} == {"resource.k8s.io/v1"}
    assert all(set(item["spec"]) == {"selectors"} for item in classes.values())
    (daemonset,) = (item for item in objects if item["kind"] == "DaemonSet")
    assert daemonset["metadata"]["name"] == "nvidia-dra-driver-gpu-kubelet-plugin"
    pod = daemonset["spec"]["template"]["spec"]
    images = {container["image"] for container in [*pod["initContainers"], *pod["containers"]]}
    assert images == {"nvcr.io/nvidia/k8s-dra-driver-gpu:v25.8.1"}
    assert [container["name"] for container in pod["containers"]] == ["compute-domains", "gpus"]
    gates = {"name": "FEATURE_GATES", "value": "MPSSupport=true,"}
    assert all(gates in container["env"] for container in pod["containers"])
    granted = {
        item["metadata"]["name"]: {
            resource: rule["verbs"] for rule in item["rules"] for resource in rule["resources"]
        }
        for item in objects
        if item["kind"] == "ClusterRole"
    }
    # templates/rbac-controller.yaml and rbac-compute-domain-daemon.yaml of its time
    assert "resourceclaims" not in granted["nvidia-dra-driver-gpu-clusterrole-controller"]
    assert granted["compute-domain-daemon-role"]["pods"] == ["get", "list", "watch"]


@pytest.mark.engine
@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ((), "GPU allocation is not yet supported in this version"),
        ((*GPUS, "resourceApiVersion=resource.k8s.io/v1"), "'resourceApiVersion' not allowed"),
        ((*GPUS, "controller.replicas=2"), "at '/controller': additional properties 'replicas' not allowed"),
        ((*GPUS, "webhook.enabled=true", "webhook.tls.mode=none"), "Invalid webhook TLS mode: none"),
    ],
)
def test_the_chart_refuses(tools: Toolset, settings: tuple[str, ...], text: str) -> None:
    done = helm(tools, *settings)
    assert done.returncode != 0
    assert text in done.stderr
