from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from dra_fleet import drivers
from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.driver import DRIVER as NVIDIA_DRIVER
from dra_fleet.drivers.nvidia.facts import ChannelTemplate, ComputeDomainChannel, ComputeDomainSpec
from tests.charts import EFA, EXAMPLE, NVIDIA, TPU, chart_folder
from tests.rehearsal.agent.agent_cluster import DRIVER, GPUS, PRESENT, RESOURCE_API, AgentCluster, machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine_support import RehearsalWorld

    Object = dict[str, Any]

OPERATOR = ("gpu-operator", "v25.10.0")
GPUS_ONLY = ("gpuResourcesEnabledOverride=true", "resources.computeDomains.enabled=false")
SERVER = ("--kube-version", "1.36.3", "--api-versions", "resource.k8s.io/v1", "--namespace", "drivers")
CHARTS = [
    pytest.param(entry, id=f"{driver.name} {entry.version}")
    for driver in filter(None, map(drivers.named, drivers.BUILT_IN))
    for entry in driver.facts.versions
    if not entry.like
]
NVIDIA_ENTRIES = [entry for entry in NVIDIA_DRIVER.facts.versions if not entry.like]
"""Those with a chart: of a version that is like another, none was read."""
NVIDIA_VERSIONS = [entry.version for entry in NVIDIA_ENTRIES]
WITHOUT_DEFAULT = {"1.4.0": "args"}
"""Of DRANET's daemon: https://github.com/kubernetes-sigs/dranet/blob/v1.4.0/deployments/helm/dranet/values.yaml."""
OF_THE_BASE = {
    "25.12.0": (
        *("controller.replicas", "controller.leaderElection", "controller.metrics"),
        "kubeletPlugin.metrics",
    )
}
"""Defaults that an imitation has only because the templates of its base read them."""
ONLY_READ = (
    "maskNvidiaDriverParams",
    "webhook.serviceAccount.annotations",
    *(f"kubeletPlugin.{key}" for key in ("resources", "tpu")),
    *(f"kubeletPlugin.containers.{key}" for key in ("logCollector", "networkOptimizer", "vbarControlAgent")),
)
"""Values that the original templates read and that an imitation or the chart's values.yaml lacks."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def chart_of(entry: ChartVersion) -> Path:
    return chart_folder(entry.chart.rpartition("/")[2], entry.version)


def read(file: Path) -> Object:
    return cast("Object", yaml.safe_load(file.read_text()))


def helm(
    tools: Toolset, chart: Path, *values: str, server: tuple[str, ...] = SERVER
) -> subprocess.CompletedProcess[str]:
    sets = [part for value in values for part in ("--set", value)]
    command = [str(tools.helm), "template", "release", str(chart), *server, *sets]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def render(tools: Toolset, chart: Path, *values: str, server: tuple[str, ...] = SERVER) -> list[Object]:
    done = helm(tools, chart, *values, server=server)
    assert done.returncode == 0, done.stderr
    return [item for item in yaml.safe_load_all(done.stdout) if item]


def refusal(tools: Toolset, chart: Path, *values: str, server: tuple[str, ...] = SERVER) -> str:
    done = helm(tools, chart, *values, server=server)
    assert done.returncode != 0
    return done.stderr


def leaves(values: Object, known: Mapping[str, object], prefix: str = "") -> set[str]:
    """Dotted keys of a chart's defaults, down to the keys that the catalogue knows."""
    found: set[str] = set()
    for key, value in values.items():
        path = f"{prefix}{key}"
        inside = cast("Object", value if isinstance(value, dict) else {})
        found |= leaves(inside, known, f"{path}.") if inside and path not in known else {path}
    return found


@pytest.mark.parametrize("entry", CHARTS)
def test_catalogue_has_the_values_of_the_chart(entry: ChartVersion) -> None:
    free, base = WITHOUT_DEFAULT.get(entry.version, " "), OF_THE_BASE.get(entry.version, ())
    found = leaves(read(chart_of(entry) / "values.yaml"), entry.values)
    assert {key for key in found if not key.startswith((free, *base))} == {
        key for key in entry.values if not key.startswith((free, *ONLY_READ)) or key in found
    }


@pytest.mark.parametrize("version", ["v25.10.0", "v26.7.0"])
def test_catalogue_has_the_values_of_the_gpu_operator(version: str) -> None:
    entry = nvidia_facts.gpu_operator().checked_version(version)
    assert entry is not None
    found = leaves(read(chart_folder("gpu-operator", version) / "values.yaml"), entry.values)
    assert found - {"clusterPolicy.deployCR", "gpuCluster.deployCR"} <= set(entry.values)


@pytest.mark.parametrize("version", NVIDIA_VERSIONS)
def test_defaults_place_pods_as_the_catalogue_says(version: str) -> None:
    entry = NVIDIA_DRIVER.facts.version(version)
    assert entry is not None
    values = read(chart_of(entry) / "values.yaml")
    assert values["kubeletPlugin"]["tolerations"] == [dict(item) for item in entry.plugin_tolerations]
    required = REQUIRED in values["controller"]["affinity"]["nodeAffinity"]
    assert required == entry.controller_needs_control_plane


@pytest.mark.engine
@pytest.mark.parametrize("version", NVIDIA_VERSIONS)
def test_chart_renders_the_classes_and_images_of_its_version(tools: Toolset, version: str) -> None:
    entry = NVIDIA_DRIVER.facts.version(version)
    assert entry is not None
    objects = render(
        tools, chart_of(entry), "gpuResourcesEnabledOverride=true", "featureGates.MPSSupport=true"
    )
    classes = {item["metadata"]["name"]: item["spec"] for item in objects if item["kind"] == "DeviceClass"}
    assert set(classes) == set(entry.classes)
    named = {spec.get("extendedResourceName"): name for name, spec in classes.items()}
    assert {key: name for key, name in named.items() if key} == dict(entry.extended_resources)
    (plugin,) = (item["spec"]["template"]["spec"] for item in objects if item["kind"] == "DaemonSet")
    assert [container["name"] for container in plugin["containers"]] == ["compute-domains", "gpus"]
    for container in plugin["containers"]:
        assert container["image"].endswith(f":v{version}")
        assert all("value" in item or "valueFrom" in item for item in container["env"])
        gates = {"name": "FEATURE_GATES", "value": "MPSSupport=true,"}
        assert gates in container["env"] or not entry.feature_gates


def spec_schema(chart: Path) -> Object:
    definition = read(chart / "crds" / "resource.nvidia.com_computedomains.yaml")
    (version,) = definition["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]


def faults(value: Any, schema: Object, path: str = "spec") -> list[str]:
    """Fields that the schema does not know, or requires and does not get."""
    if schema["type"] != "object":
        allowed = schema.get("enum")
        return [] if allowed is None or value in allowed else [f"{path}: {value} is not in {allowed}"]
    found = [f"{path}.{key}: required" for key in schema.get("required", []) if key not in value]
    for key, item in value.items():
        below = schema["properties"].get(key)
        found += [f"{path}.{key}: unknown"] if below is None else faults(item, below, f"{path}.{key}")
    return found


@pytest.mark.parametrize("chart", [NVIDIA, ("nvidia-dra-driver-gpu", "25.8.1")], ids=lambda chart: chart[0])
@pytest.mark.parametrize("mode", ["Single", "All", None])
def test_typed_compute_domain_is_valid_for_the_chart(chart: tuple[str, str], mode: Any) -> None:
    schema = spec_schema(chart_folder(*chart))
    channel = ComputeDomainChannel(
        resource_claim_template=ChannelTemplate(name="channel"), allocation_mode=mode
    )
    assert faults(ComputeDomainSpec(channel=channel).to_object(), schema) == []
    assert schema["x-kubernetes-validations"] == [
        {"rule": "self == oldSelf", "message": "A computeDomain.spec is immutable"}
    ]


def test_missing_and_unknown_fields_of_a_compute_domain_are_found() -> None:
    schema = spec_schema(chart_folder("nvidia-dra-driver-gpu", "25.8.1"))
    assert faults({"channel": {"resourceClaimTemplate": {"nam": "x"}}}, schema) == [
        "spec.numNodes: required",
        "spec.channel.resourceClaimTemplate.name: required",
        "spec.channel.resourceClaimTemplate.nam: unknown",
    ]


@pytest.mark.engine
def test_efa_chart_selects_the_machines_that_have_such_cards(tools: Toolset) -> None:
    rendered = render(tools, chart_folder(*EFA), "tolerations[0].key=nvidia.com/gpu")
    (daemonset,) = (item for item in rendered if item["kind"] == "DaemonSet")
    pod = daemonset["spec"]["template"]["spec"]
    assert [item["key"] for item in pod["tolerations"]] == ["CriticalAddonsOnly", "nvidia.com/gpu"]
    (term,) = pod["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    types, compute = term["matchExpressions"]
    assert "p6e-gb200.36xlarge" in types["values"]
    assert compute == {"key": "eks.amazonaws.com/compute-type", "operator": "NotIn", "values": ["auto"]}


@pytest.mark.engine
@pytest.mark.parametrize(
    ("chart", "values", "text"),
    [
        (("nvidia-dra-driver-gpu", "25.8.1"), (), "GPU allocation is not yet supported in this version"),
        (NVIDIA, (), "this DRA driver cannot be deployed alongside the standard GPU device plugin"),
        (
            NVIDIA,
            ("gpuResourcesEnabledOverride=true", "resources.computeDomains.imex.mode=hostManaged"),
            "imex.mode=hostManaged requires featureGates.HostManagedIMEXDaemon=true",
        ),
        (
            NVIDIA,
            (*GPUS_ONLY, "webhook.enabled=true", "webhook.tls.mode=none"),
            "Invalid webhook TLS mode: none",
        ),
        (EXAMPLE, ("deviceProfile=tpu",), "value must be one of 'gpu', 'cpu', 'net'"),
        (OPERATOR, ("sandboxWorkloads.enabled=true",), "for virtual machines are not simulated"),
        (OPERATOR, ("driver.nvidiaDriverCRD.enabled=true",), "NVIDIADriver objects are not simulated"),
        (OPERATOR, ("migManager.config.create=true",), "migManager.config.name must be set"),
        (("gpu-operator", "v26.7.0"), ("gpuCluster.deployCR=true",), "are mutually exclusive"),
    ],
)
def test_chart_rejects_values(
    tools: Toolset, chart: tuple[str, str], values: tuple[str, ...], text: str
) -> None:
    assert text in refusal(tools, chart_folder(*chart), *values)


@pytest.mark.engine
@pytest.mark.parametrize("chart", [NVIDIA, EXAMPLE, TPU], ids=["nvidia", "example", "tpu"])
def test_chart_rejects_the_default_namespace(tools: Toolset, chart: tuple[str, str]) -> None:
    values = GPUS_ONLY if chart is NVIDIA else ()
    text = refusal(tools, chart_folder(*chart), *values, server=(*SERVER[:-1], "default"))
    assert "Running in the 'default' namespace is not recommended." in text


@pytest.mark.engine
@pytest.mark.parametrize("version", ["v25.10.0", "v26.7.0"])
def test_cluster_policy_has_the_values(tools: Toolset, version: str) -> None:
    chart = chart_folder("gpu-operator", version)
    objects = render(tools, chart, "mig.strategy=mixed", "devicePlugin.enabled=false")
    (policy,) = (item["spec"] for item in objects if item["kind"] == "ClusterPolicy")
    entry = nvidia_facts.gpu_operator().checked_version(version)
    assert entry is not None
    assert (policy["driver"]["version"], policy["driver"]["enabled"]) == (entry.gpu_driver, True)
    assert (policy["mig"]["strategy"], policy["devicePlugin"]["enabled"]) == ("mixed", False)


@pytest.mark.engine
def test_tpu_chart_selects_nodes_without_the_device_plugin(tools: Toolset) -> None:
    [plugin] = [item for item in render(tools, chart_folder(*TPU)) if item["kind"] == "DaemonSet"]
    [term] = plugin["spec"]["template"]["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert {"key": "cloud.google.com/gke-tpu-dra-driver", "operator": "In", "values": ["true"]} in term[
        "matchExpressions"
    ]


@pytest.fixture(scope="module")
def cluster(rehearsal_simulator: RehearsalWorld, tools: Toolset) -> Iterator[AgentCluster]:
    """One machine with GPUs and no driver."""
    made = rehearsal_simulator.new_cluster(
        {
            "kubernetes": "v1.36.3",
            "sliceWipingSeconds": 2,
            "nodes": [machine("whole", PRESENT, gpus=GPUS, nvidia=DRIVER)],
        }
    )
    yield AgentCluster(cluster=made, helm_binary=tools.helm)
    rehearsal_simulator.remove(made)


@pytest.mark.engine
@pytest.mark.parametrize("version", [one for one in NVIDIA_VERSIONS if one not in ("25.8.1", "0.5.0")])
def test_installed_version_publishes_the_devices_of_its_time(cluster: AgentCluster, version: str) -> None:
    entry = NVIDIA_DRIVER.facts.version(version)
    assert entry is not None
    values = [part for value in GPUS_ONLY for part in ("--set", value)]
    release = ("nvidia", "--namespace", "nvidia-dra-driver")

    cluster.helm("install", release[0], str(chart_of(entry)), *release[1:], "--create-namespace", *values)

    def devices(slices: list[Object]) -> list[Object] | None:
        return [device for item in slices for device in item["spec"].get("devices", [])] or None

    published = cluster.until("devices", (RESOURCE_API, "ResourceSlice"), devices)
    assert sorted(device["name"] for device in published) == ["gpu-0", "gpu-1"]
    known = NVIDIA_DRIVER.facts.attributes_in(version)
    assert all(set(device["attributes"]) <= known for device in published)

    cluster.helm("uninstall", *release, "--wait")
    cluster.until("slices gone", (RESOURCE_API, "ResourceSlice"), lambda slices: not slices)


@pytest.mark.engine
@pytest.mark.parametrize("entry", NVIDIA_ENTRIES)
def test_a_value_that_the_chart_lacks_is_ignored_as_check_reports(
    tools: Toolset, entry: ChartVersion
) -> None:
    (found,) = check_values(entry, {"resources-computeDomains": {"enabled": False}})
    assert found.path == "resources-computeDomains"
    given = ("gpuResourcesEnabledOverride=true", "resources-computeDomains.enabled=false")
    both = [render(tools, chart_of(entry), *given[:number]) for number in (1, 2)]
    assert both[0] == both[1]
