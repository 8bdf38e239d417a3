"""Values that published charts take are taken, also those that hardly anyone sets.

Sources: deployments/gpu-operator of https://github.com/NVIDIA/gpu-operator, values.yaml and
templates/{clusterpolicy,nvidiadriver,operator,gpucluster}.yaml; values.yaml in deployments/helm of
https://github.com/kubernetes-sigs/dra-example-driver.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_fleet.drivers.base import Release
from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.drivers.common.values import merged, nested
from dra_fleet.drivers.example.driver import DRIVER as EXAMPLE
from dra_fleet.drivers.nvidia.driver import DRIVER as NVIDIA
from dra_fleet.drivers.nvidia.facts import gpu_operator

REFUSED = yaml.safe_load(Path(__file__).with_name("refused_values.yaml").read_text(encoding="utf-8"))
OPERANDS = [
    "validator",
    "driver",
    "toolkit",
    "devicePlugin",
    "dcgm",
    "dcgmExporter",
    "gfd",
    "migManager",
    "nodeStatusExporter",
    "gds",
    "gdrcopy",
    "vgpuManager",
    "vgpuDeviceManager",
    "vfioManager",
    "kataManager",
    "sandboxDevicePlugin",
    "ccManager",
]
MIRROR = {
    "repository": "registry.example.com/nvidia",
    "image": "any",
    "version": "1.0.0",
    "imagePullPolicy": "Always",
    "imagePullSecrets": ["mirror"],
}
MIRROR_WITHOUT_SECRETS = {key: value for key, value in MIRROR.items() if key != "imagePullSecrets"}
LATER: dict[str, Any] = {
    "extraObjects": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extra"}}],
    "draDriver": {**MIRROR, "featureGates": {}, "computeDomains": {"enabled": False}},
    "kataSandboxDevicePlugin": MIRROR,
    "sandboxWorkloads": {"mode": "kubevirt"},
    "cdi": {"nriPluginEnabled": True},
    "hostPaths": {"kubeletRootDir": "/var/lib/kubelet"},
    "operator": {"metrics": {"serviceMonitor": {"interval": "30s"}}, "env": [{"name": "A", "value": "1"}]},
    "dcgmExporter": {"hostNetwork": True},
}


def output(version: str, values: dict[str, Any]) -> list[str]:
    entry = gpu_operator().checked_version(version)
    assert entry is not None
    return [refusal.path for refusal in check_values(entry, values)]


@pytest.mark.parametrize("version", ["v25.10.0", "v26.7.0"])
@pytest.mark.parametrize("operand", OPERANDS)
def test_every_operand_s_image_can_come_from_a_private_registry(version: str, operand: str) -> None:
    assert output(version, {operand: MIRROR}) == []


@pytest.mark.parametrize("version", ["v25.10.0", "v26.7.0"])
def test_the_operator_can_be_placed_and_its_managers_mirrored(version: str) -> None:
    values: dict[str, Any] = {
        "operator": {
            **MIRROR,
            "nodeSelector": {"pool": "system"},
            "labels": {"a": "b"},
        },
        "dcgmExporter": {"hostPID": True, "service": {"internalTrafficPolicy": "Local"}},
        "daemonsets": {"rollingUpdate": {"maxUnavailable": 1}},
        "driver": {"manager": MIRROR, "livenessProbe": {"periodSeconds": 30}, "secretEnv": "proxy"},
        "vfioManager": {"driverManager": {**MIRROR_WITHOUT_SECRETS, "env": []}},
        "node-feature-discovery": {"image": {"pullSecrets": [{"name": "mirror"}]}},
    }
    assert output(version, values) == []


# Values that templates/clusterpolicy.yaml reads, with the first and the last version
@pytest.mark.parametrize(
    ("key", "value", "since", "until"),
    [
        ("dcgmExporter.hpcJobMapping", {"enabled": True}, "v25.10.1", "v26.7.0"),
        ("sandboxWorkloads.mode", "kubevirt", "v26.3.0", "v26.7.0"),
        ("toolkit.hostNetwork", True, "v26.3.1", "v26.7.0"),
        ("dcgmExporter.annotations", {"a": "b"}, "v26.3.2", "v26.7.0"),
        ("dcgmExporter.serviceMonitor.scrapeTimeout", "5s", "v26.7.0", "v26.7.0"),
        ("cdi.default", True, "v25.10.0", "v26.3.3"),
        ("operator.initContainer", MIRROR, "v25.10.0", "v26.3.3"),
        ("operator.defaultRuntime", "containerd", "", ""),
        ("driver.useOpenKernelModules", True, "", ""),
        ("validator.enabled", True, "", ""),
    ],
)
def test_each_version_of_the_operator_accepts_the_values_that_it_reads(
    key: str, value: object, since: str, until: str
) -> None:
    for version in ("v25.10.0", "v25.10.1", "v26.3.0", "v26.3.1", "v26.3.2", "v26.3.3", "v26.7.0"):
        entry = gpu_operator().checked_version(version)
        assert entry is not None
        assert entry.checked_by == ""
        found = [refusal.path for refusal in check_values(entry, nested({key: value}))]
        assert found == ([] if since <= version <= until else [key]), version


@pytest.mark.parametrize("key", LATER)
def test_accepts_values_of_later_charts_only_there(key: str) -> None:
    assert output("v26.7.0", {key: LATER[key]}) == []
    assert output("v25.10.0", {key: LATER[key]}) != []


# Values that the API server and klog accept: https://github.com/kubernetes/kubernetes/tree/v1.36.3/pkg/apis
@pytest.mark.parametrize("row", REFUSED)
def test_rejects_values_that_the_api_server_or_the_driver_rejects(row: dict[str, Any]) -> None:
    entry = NVIDIA.facts.version("0.5.0")
    assert entry is not None
    [refusal] = check_values(entry, row["values"])
    assert (refusal.path, refusal.allowed) == (row["path"], row["allowed"])
    assert refusal.what == "is not a value that the API server or the driver accepts"


# https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/api/nvidia/v1/clusterpolicy_types.go
@pytest.mark.parametrize(
    ("values", "path", "allowed"),
    [
        ({"mig": {"strategy": "both"}}, "mig.strategy", "none, single, mixed"),
        ({"daemonsets": {"updateStrategy": "Nope"}}, "daemonsets.updateStrategy", "RollingUpdate, OnDelete"),
    ],
)
def test_the_operator_s_own_words_are_compared_with_its_cluster_policy(
    values: dict[str, Any], path: str, allowed: str
) -> None:
    entry = gpu_operator().checked_version("v25.10.0")
    assert entry is not None
    [refusal] = check_values(entry, values)
    assert (refusal.path, refusal.allowed) == (path, allowed)


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"deviceClass": {"extendedResourceName": "Not a name"}}, "deviceClass.extendedResourceName"),
        ({"deviceClass": {"extendedResourceName": "gpu"}}, "deviceClass.extendedResourceName"),
        ({"driverName": "Not a name"}, "driverName"),
    ],
)
def test_names_of_the_example_driver_are_those_of_the_api(values: dict[str, Any], path: str) -> None:
    entry = EXAMPLE.facts.version("0.4.0")
    assert entry is not None
    assert [refusal.path for refusal in check_values(entry, values)] == [path]


@pytest.mark.parametrize("key", ["gpuPartitions", "numDevices"])
def test_there_are_no_negative_numbers_of_devices(key: str) -> None:
    entry = EXAMPLE.facts.version("0.4.0")
    assert entry is not None
    [refusal] = check_values(entry, {"kubeletPlugin": {key: -1}})
    assert (refusal.path, refusal.got, refusal.allowed) == (f"kubeletPlugin.{key}", "-1", "0 or more")


# https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/gpu-kubelet-plugin/main.go#L306-L313
@pytest.mark.parametrize("shares", ["banana", "4.5", "-3", "four", "0", "٣"])
def test_shares_that_the_driver_ends_on_are_refused_also_without_its_gate(shares: str) -> None:
    entry = NVIDIA.facts.version("0.5.0")
    assert entry is not None
    release = Release(version=entry, minor="1.36", namespace="x", pools=[])
    for gates in ({}, {"ConsumableShares": True}):
        final = merged(NVIDIA.values(release), {"consumableShares": shares, "featureGates": gates})
        output = [refusal for refusal in NVIDIA.guards(release, final) if refusal.path == "consumableShares"]
        assert [refusal.what for refusal in output] == [
            "is not an option of the driver, which exits at its start even without the gate"
        ]


def test_the_example_driver_s_chart_takes_its_webhook_s_ports_and_quota() -> None:
    entry = EXAMPLE.facts.version("0.4.0")
    assert entry is not None
    values: dict[str, Any] = {
        "kubeletPlugin": {
            "bindingConditions": False,
            "cpu": {"numaNodes": 2, "cpusPerNUMANode": 8},
            "kubeletPluginsDirectoryPath": "/var/lib/k0s/kubelet/plugins",
            "kubeletRegistrarDirectoryPath": "/var/lib/k0s/kubelet/plugins_registry",
            "containers": {"plugin": {"healthcheckPort": -1, "metricsPort": -1}},
        },
        "webhook": {
            "servicePort": 8443,
            "priorityClassName": "",
            "serviceAccount": {"name": "webhook"},
            "containers": {"webhook": {"resources": {}}},
        },
        "resourceQuota": {"enabled": True, "pods": 4},
    }
    assert check_values(entry, values) == []


PUBLISHED: list[dict[str, Any]] = [
    {
        "kubeletPlugin": {
            "containers": {"gpus": {"healthcheckPort": -1, "resources": {"limits": {"memory": "1Gi"}}}}
        }
    },
    {"kubeletPlugin": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "10%"}}}},
    {"kubeletPlugin": {"podAnnotations": {"prometheus.io/scrape": "true"}, "priorityClassName": ""}},
    {"controller": {"leaderElection": {"leaseDuration": "1m30s"}}, "image": {"tag": "v0.5.0-ubi9"}},
    {"image": {"repository": "registry.example.com:5000/nvidia/dra-driver-nvidia-gpu"}},
    {"kubeletPlugin": {"podSecurityContext": {"runAsUser": 0, "seccompProfile": {"type": "RuntimeDefault"}}}},
]


@pytest.mark.parametrize("values", PUBLISHED)
def test_accepts_values_that_they_accept(values: dict[str, Any]) -> None:
    version = NVIDIA.facts.version("0.5.0")
    assert version is not None
    assert check_values(version, values) == []
