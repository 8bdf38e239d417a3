"""Values that published charts take are taken, also those that hardly anyone sets.

Sources: deployments/gpu-operator of https://github.com/NVIDIA/gpu-operator, values.yaml and
templates/{clusterpolicy,nvidiadriver,operator,gpucluster}.yaml; values.yaml in deployments/helm of
https://github.com/kubernetes-sigs/dra-example-driver.
"""

from __future__ import annotations

from typing import Any

import pytest

from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.drivers.example import DRIVER as EXAMPLE
from dra_fleet.drivers.nvidia.facts import gpu_operator

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
LATER: dict[str, Any] = {
    "extraObjects": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extra"}}],
    "draDriver": {**MIRROR, "featureGates": {}, "computeDomains": {"enabled": False}},
    "kataSandboxDevicePlugin": MIRROR,
    "sandboxWorkloads": {"mode": "kubevirt"},
    "cdi": {"nriPluginEnabled": True},
    "hostPaths": {"kubeletRootDir": "/var/lib/kubelet"},
    "operator": {"metrics": {"serviceMonitor": {"interval": "30s"}}},
    "dcgmExporter": {"hostPID": True, "service": {"internalTrafficPolicy": "Local"}},
}


def told(version: str, values: dict[str, Any]) -> list[str]:
    entry = gpu_operator().version(version)
    assert entry is not None
    return [refusal.path for refusal in check_values(entry, values)]


@pytest.mark.parametrize("version", ["v25.10.0", "v26.7.0"])
@pytest.mark.parametrize("operand", OPERANDS)
def test_every_operand_s_image_can_come_from_a_private_registry(version: str, operand: str) -> None:
    assert told(version, {operand: MIRROR}) == []


@pytest.mark.parametrize("version", ["v25.10.0", "v26.7.0"])
def test_the_operator_can_be_placed_and_its_managers_mirrored(version: str) -> None:
    values: dict[str, Any] = {
        "operator": {**MIRROR, "nodeSelector": {"pool": "system"}, "initContainer": MIRROR},
        "driver": {"manager": MIRROR, "livenessProbe": {"periodSeconds": 30}},
        "vfioManager": {"driverManager": MIRROR},
        "node-feature-discovery": {"image": {"pullSecrets": [{"name": "mirror"}]}},
    }
    assert told(version, values) == []


@pytest.mark.parametrize("key", LATER)
def test_what_a_later_chart_brought_is_taken_there_alone(key: str) -> None:
    assert told("v26.7.0", {key: LATER[key]}) == []
    assert told("v25.10.0", {key: LATER[key]}) != []


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
