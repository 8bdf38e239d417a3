"""The stand-in charts: same keys and refusals as the published ones, and an error for any other key."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from dra_fleet import drivers
from dra_fleet.rehearsal.charts import stand_ins

if TYPE_CHECKING:
    from pathlib import Path

    from dra_fleet.rehearsal.tools import Toolset

NVIDIA = stand_ins()["dra-driver-nvidia-gpu", "0.5.0"]
EXAMPLE = stand_ins()["dra-example-driver", "0.4.0"]
TPU = stand_ins()["dra-driver-google-tpu", "0.1.0"]
EFA = stand_ins()["aws-dranet", "1.0.0"]
PUBLISHED = {
    NVIDIA: "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu",
    EXAMPLE: "oci://registry.k8s.io/dra-example-driver/charts/dra-example-driver",
    TPU: "oci://registry.k8s.io/dra-driver-google/charts/dra-driver-google-tpu",
}
GPUS_ONLY = ("gpuResourcesEnabledOverride=true", "resources.computeDomains.enabled=false")
SERVER = ("--kube-version", "1.36.3", "--api-versions", "resource.k8s.io/v1", "--namespace", "drivers")
LEFT_OUT = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "Role", "RoleBinding"}
"""Kinds the stand-ins do without; each README says so."""


def render(
    tools: Toolset, chart: Path | str, *values: str, more: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    sets = [part for value in values for part in ("--set", value)]
    command = [str(tools.helm), "template", "release", str(chart), *SERVER, *more, *sets]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [item for item in yaml.safe_load_all(text) if item]


def refusal(tools: Toolset, chart: Path, *values: str, server: tuple[str, ...] = SERVER) -> str:
    sets = [part for value in values for part in ("--set", value)]
    command = [str(tools.helm), "template", "release", str(chart), *server, *sets]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode != 0
    return done.stderr


def keys(values: dict[str, Any], schema: dict[str, Any], prefix: str = "") -> set[str]:
    """Dotted keys down to where the schema leaves the inside free."""
    found: set[str] = set()
    for key, value in values.items():
        below = schema["properties"][key]
        inside = below.get("additionalProperties") is False
        found |= keys(value, below, f"{prefix}{key}.") if inside else {f"{prefix}{key}"}
    return found


def schema_and_values(chart: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    schema = cast("dict[str, Any]", json.loads((chart / "values.schema.json").read_text()))
    values = cast("dict[str, Any]", yaml.safe_load((chart / "values.yaml").read_text()))
    return schema, values


@pytest.mark.parametrize(
    ("chart", "driver", "version"),
    [
        (NVIDIA, "nvidia", "0.5.0"),
        (EXAMPLE, "example", "0.4.0"),
        (TPU, "tpu", "0.1.0"),
        (EFA, "dranet", "1.0.0"),
    ],
)
def test_a_stand_in_takes_the_values_that_the_catalogue_knows(chart: Path, driver: str, version: str) -> None:
    schema, values = schema_and_values(chart)
    known = drivers.named(driver)
    assert known is not None
    entry = known.facts.version(version)
    assert entry is not None
    assert set(entry.values) - keys(values, schema) == set()


@pytest.mark.engine
def test_the_nvidia_chart_installs_the_plugin_its_rights_and_its_classes(tools: Toolset) -> None:
    objects = render(tools, NVIDIA, *GPUS_ONLY)
    names = sorted(f"{item['kind']}/{item['metadata']['name']}" for item in objects)
    assert names == [
        "ClusterRole/compute-domain-daemon-role",
        "ClusterRole/dra-driver-nvidia-gpu-clusterrole-controller",
        "ClusterRole/dra-driver-nvidia-gpu-clusterrole-kubeletplugin",
        "ClusterRoleBinding/compute-domain-daemon-role-binding",
        "ClusterRoleBinding/dra-driver-nvidia-gpu-clusterrole-binding-controller-drivers",
        "ClusterRoleBinding/dra-driver-nvidia-gpu-clusterrole-binding-kubeletplugin",
        "DaemonSet/dra-driver-nvidia-gpu-kubelet-plugin",
        "DeviceClass/gpu.nvidia.com",
        "DeviceClass/mig.nvidia.com",
        "DeviceClass/vfio.gpu.nvidia.com",
        "Role/dra-driver-nvidia-gpu-role-controller",
        "Role/dra-driver-nvidia-gpu-role-kubeletplugin",
        "RoleBinding/dra-driver-nvidia-gpu-role-binding-controller",
        "RoleBinding/dra-driver-nvidia-gpu-role-binding-kubeletplugin",
        "ServiceAccount/compute-domain-daemon-service-account",
        "ServiceAccount/release-dra-driver-nvidia-gpu-service-account-controller",
        "ServiceAccount/release-dra-driver-nvidia-gpu-service-account-kubeletplugin",
    ]
    whole = next(item for item in objects if item["metadata"]["name"] == "gpu.nvidia.com")
    assert whole["spec"] == {
        "extendedResourceName": "nvidia.com/gpu",
        "selectors": [
            {
                "cel": {
                    "expression": "device.driver == 'gpu.nvidia.com' && "
                    "device.attributes['gpu.nvidia.com'].type == 'gpu'"
                }
            }
        ],
    }


@pytest.mark.engine
def test_compute_domains_bring_a_controller_a_container_and_two_classes(tools: Toolset) -> None:
    objects = render(tools, NVIDIA, "gpuResourcesEnabledOverride=true")
    kinds = [item["kind"] for item in objects]
    assert (kinds.count("Deployment"), kinds.count("DeviceClass")) == (1, 5)
    daemonset = next(item for item in objects if item["kind"] == "DaemonSet")
    containers = daemonset["spec"]["template"]["spec"]["containers"]
    assert [container["name"] for container in containers] == ["compute-domains", "gpus"]


@pytest.mark.engine
def test_the_efa_chart_goes_to_the_machines_that_have_such_cards(tools: Toolset) -> None:
    toleration = "tolerations[0].key=nvidia.com/gpu"
    objects = {item["kind"]: item for item in render(tools, EFA, toleration)}
    assert set(objects) == {
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "DaemonSet",
        "DeviceClass",
    }
    pod = objects["DaemonSet"]["spec"]["template"]["spec"]
    assert [item["key"] for item in pod["tolerations"]] == ["CriticalAddonsOnly", "nvidia.com/gpu"]
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    types, compute = term["matchExpressions"]
    assert "p6e-gb200.36xlarge" in types["values"]
    assert compute == {"key": "eks.amazonaws.com/compute-type", "operator": "NotIn", "values": ["auto"]}


@pytest.mark.engine
def test_feature_gates_reach_the_containers(tools: Toolset) -> None:
    objects = render(
        tools, NVIDIA, *GPUS_ONLY, "featureGates.MPSSupport=true", "featureGates.DynamicMIG=false"
    )
    daemonset = next(item for item in objects if item["kind"] == "DaemonSet")
    (container,) = daemonset["spec"]["template"]["spec"]["containers"]
    gates = {"name": "FEATURE_GATES", "value": "DynamicMIG=false,MPSSupport=true,"}
    assert gates in container["env"]


@pytest.mark.engine
@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((), "this DRA driver cannot be deployed alongside the standard GPU device plugin"),
        (
            ("resources-computeDomains.enabled=false",),
            "additional properties 'resources-computeDomains' not allowed",
        ),
        (("resources.gpu.enabled=true",), "at '/resources': additional properties 'gpu' not allowed"),
        (
            ("gpuResourcesEnabledOverride=true", "resources.computeDomains.imex.mode=hostManaged"),
            "imex.mode=hostManaged requires featureGates.HostManagedIMEXDaemon=true",
        ),
        (
            ("gpuResourcesEnabledOverride=true", "resources.computeDomains.imex.isolation=channel"),
            "imex.isolation=channel is not supported yet",
        ),
        ((*GPUS_ONLY, "webhook.enabled=true", "webhook.tls.mode=none"), "Invalid webhook TLS mode: none"),
    ],
)
def test_the_nvidia_chart_refuses(tools: Toolset, values: tuple[str, ...], text: str) -> None:
    assert text in refusal(tools, NVIDIA, *values)


@pytest.mark.engine
@pytest.mark.parametrize("chart", [NVIDIA, EXAMPLE, TPU], ids=["nvidia", "example", "tpu"])
def test_the_default_namespace_is_refused(tools: Toolset, chart: Path) -> None:
    server = (*SERVER[:-1], "default")
    assert "Running in the 'default' namespace is not recommended." in refusal(
        tools, chart, *(GPUS_ONLY if chart is NVIDIA else ()), server=server
    )


@pytest.mark.engine
@pytest.mark.parametrize("chart", [NVIDIA, EXAMPLE, TPU], ids=["nvidia", "example", "tpu"])
def test_a_namespace_that_yaml_takes_for_a_boolean_stays_a_name(tools: Toolset, chart: Path) -> None:
    objects = render(tools, chart, *(GPUS_ONLY if chart is NVIDIA else ()), more=("--namespace", "no"))
    assert {item["metadata"].get("namespace", "no") for item in objects} == {"no"}


@pytest.mark.engine
def test_an_old_cluster_is_refused(tools: Toolset) -> None:
    server = ("--kube-version", "1.31.0", "--namespace", "drivers")
    assert "chart requires kubeVersion: >=1.32.0-0" in refusal(tools, NVIDIA, *GPUS_ONLY, server=server)


@pytest.mark.engine
def test_the_example_chart_refuses_what_is_not_rehearsed(tools: Toolset) -> None:
    told = refusal(tools, EXAMPLE, "webhook.enabled=true")
    assert "it does not rehearse the webhook" in told


@pytest.mark.engine
@pytest.mark.parametrize(
    ("value", "variable"),
    [
        ("deviceProfile=net", {"name": "DEVICE_PROFILE", "value": "net"}),
        ("kubeletPlugin.gpuPartitions=4", {"name": "GPU_PARTITIONS", "value": "4"}),
        ("gpuAllowMultipleAllocations=true", {"name": "GPU_ALLOW_MULTIPLE_ALLOCATIONS", "value": "true"}),
        ("kubeletPlugin.bindingConditions=true", {"name": "BINDING_CONDITIONS", "value": "true"}),
        ("kubeletPlugin.cpu.numaNodes=2", {"name": "CPU_NUMA_NODES", "value": "2"}),
    ],
)
def test_the_example_chart_tells_the_plugin_what_to_publish(
    tools: Toolset, value: str, variable: dict[str, str]
) -> None:
    [plugin] = [item for item in render(tools, EXAMPLE, value) if item["kind"] == "DaemonSet"]
    assert variable in plugin["spec"]["template"]["spec"]["containers"][0]["env"]


@pytest.mark.engine
def test_the_tpu_chart_has_no_device_status_as_neither_tag_has(tools: Toolset) -> None:
    assert "additional properties 'deviceStatus' not allowed" in refusal(tools, TPU, "deviceStatus=true")


@pytest.mark.engine
def test_the_tpu_chart_keeps_to_nodes_whose_plugin_is_off(tools: Toolset) -> None:
    [plugin] = [item for item in render(tools, TPU) if item["kind"] == "DaemonSet"]
    rules = plugin["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    [term] = rules["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert {"key": "cloud.google.com/gke-tpu-dra-driver", "operator": "In", "values": ["true"]} in term[
        "matchExpressions"
    ]


@pytest.mark.engine
@pytest.mark.network
@pytest.mark.parametrize("chart", [NVIDIA, EXAMPLE, TPU], ids=["nvidia", "example", "tpu"])
def test_the_stand_in_renders_the_kinds_and_keys_of_the_published_chart(
    tools: Toolset, chart: Path, tmp_path: Path
) -> None:
    pull = [
        str(tools.helm),
        "pull",
        PUBLISHED[chart],
        "--version",
        chart.name,
        "--untar",
        "--untardir",
        str(tmp_path),
    ]
    try:
        subprocess.run(pull, check=True, capture_output=True, timeout=30)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("the public chart registry is not reachable")
    published = tmp_path / chart.parent.name
    values = GPUS_ONLY if chart is NVIDIA else ()
    ours = {(item["kind"], item["metadata"]["name"]) for item in render(tools, chart, *values)}
    theirs = {(item["kind"], item["metadata"]["name"]) for item in render(tools, published, *values)}
    assert ours == {item for item in theirs if item[0] not in LEFT_OUT}
    schema, own_values = schema_and_values(chart)
    their_values = cast("dict[str, Any]", yaml.safe_load((published / "values.yaml").read_text()))
    assert keys(their_values, schema) <= keys(own_values, schema)


RIGHTS: dict[str, dict[str, list[str]]] = {
    "dra-driver-nvidia-gpu-clusterrole-controller": {
        "computedomains": ["get", "list", "watch", "update"],
        "computedomains/status": ["update"],
        "resourceclaimtemplates": ["get", "list", "watch", "create", "update", "delete"],
        "leases": ["get", "create", "update"],
        "nodes": ["get", "list", "watch", "update"],
        "pods": ["get", "list", "watch"],
    },
    "dra-driver-nvidia-gpu-clusterrole-kubeletplugin": {
        "computedomains": ["get", "list", "watch"],
        "resourceclaims": ["get", "list", "watch"],
        "resourceslices": ["get", "list", "watch", "create", "update", "delete"],
        "nodes": ["get", "list", "watch", "update", "patch"],
        "pods": ["get", "list", "watch"],
    },
    "dra-driver-nvidia-gpu-role-controller": {
        "daemonsets": ["get", "list", "watch", "create", "update", "patch", "delete"],
        "computedomaincliques": ["get", "list", "watch", "update"],
    },
    "dra-driver-nvidia-gpu-role-kubeletplugin": {"computedomaincliques": ["get"]},
    "compute-domain-daemon-role": {
        "computedomains": ["get", "list", "watch", "update", "patch"],
        "computedomains/status": ["get", "list", "watch", "update", "patch"],
        "computedomaincliques": ["get", "list", "watch", "create", "update", "patch"],
        "pods": ["get", "list", "watch", "patch"],
    },
}
"""https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/tree/v0.5.0/deployments/helm/dra-driver-nvidia-gpu/templates,
rbac-controller.yaml, rbac-kubeletplugin.yaml, rbac-compute-domain-daemon.yaml."""


def rights(objects: list[dict[str, Any]]) -> dict[str, dict[str, list[str]]]:
    """The verbs of each role, by resource."""
    return {
        item["metadata"]["name"]: {
            resource: rule["verbs"] for rule in item["rules"] for resource in rule["resources"]
        }
        for item in objects
        if item["kind"] in ("ClusterRole", "Role")
    }


@pytest.mark.engine
def test_the_nvidia_chart_grants_what_the_published_chart_grants(tools: Toolset) -> None:
    assert rights(render(tools, NVIDIA, *GPUS_ONLY)) == RIGHTS


@pytest.mark.engine
def test_the_plugin_may_make_the_daemons_of_mps_where_its_gate_is_on(tools: Toolset) -> None:
    granted = rights(render(tools, NVIDIA, *GPUS_ONLY, "featureGates.MPSSupport=true"))
    assert granted["dra-driver-nvidia-gpu-role-kubeletplugin"] == {
        "computedomaincliques": ["get"],
        "deployments": ["get", "list", "watch", "create", "update", "patch", "delete"],
    }


@pytest.mark.engine
def test_a_webhook_without_tls_is_refused_in_the_chart_s_words(tools: Toolset) -> None:
    told = refusal(tools, NVIDIA, *GPUS_ONLY, "webhook.enabled=true", "webhook.tls=null")
    assert "Webhook TLS configuration is required when webhook is enabled." in told
