"""NVIDIA's DRA driver, its device plugin and the GPU Operator as any program installs them."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from dra_fleet.drivers.common.predicting import KnownDevice, one_of
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.devices import DRIVER, GpuOnHost, nvidia_devices
from dra_fleet.drivers.nvidia.facts import (
    INSTALL_DIR,
    KEY,
    MIG_CONFIG,
    MIG_NONE,
    MIG_READY,
    MIG_STATE,
    OF_OPERATOR,
)
from dra_fleet.drivers.resources import (
    DevicePlugin,
    Dividable,
    DriverResources,
    KnownByValues,
    Operator,
    OtherPlugin,
    Progress,
    Switch,
)
from dra_fleet.kubernetes.cel import UNKNOWN
from dra_fleet.kubernetes.scheduling.node_affinity import MissingLabel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.drivers.nvidia.facts import GpuModel, GpuOperatorVersion
    from dra_fleet.model.specs import PublishedDevice


_DRIVER_VERSION: Final = "580.126.09"

_HOST: Final = ("uuid", "parentUUID", "driverVersion", "cudaDriverVersion")
"""Attributes that differ from host to host: no verdict may depend on their values."""

_WHOLE: Final = "gpu"

_PARTITION: Final = "mig"

_TAINT = "nvidia.com/gpu"


def _operator_versions() -> Sequence[GpuOperatorVersion]:
    return nvidia_facts.gpu_operator().versions


def _layouts(model: str) -> Mapping[str, int] | None:
    gpu = nvidia_facts.gpus().get(model)
    if gpu is None:
        return None
    return {} if gpu.mig is None else {profile.name: profile.max_instances for profile in gpu.mig.profiles}


@cache
def whole_gpus() -> tuple[KnownDevice, ...]:
    """Every GPU model, unpartitioned."""
    return tuple(
        _known(model, device, "")
        for model in nvidia_facts.gpus().values()
        for device in _published(model, None)
    )


def partitions() -> Iterator[KnownDevice]:
    """Every MIG partition of every GPU model, those of a model made when it is first come to."""
    return chain.from_iterable(map(_partitions_of, nvidia_facts.gpus()))


@cache
def _partitions_of(name: str) -> tuple[KnownDevice, ...]:
    model = nvidia_facts.gpus()[name]
    profiles = model.mig.profiles if model.mig is not None else ()
    return tuple(_known(model, _published(model, ((item.name, 1),))[0], item.name) for item in profiles)


def _published(model: GpuModel, mig: tuple[tuple[str, int], ...] | None) -> list[PublishedDevice]:
    driver = nvidia_facts.driver()
    gpu = GpuOnHost(
        model=model, minor=0, uuid="GPU-0", pci_bus_id=None, pcie_root=None, numa_node=None, mig=mig
    )
    return nvidia_devices(
        [gpu],
        driver_version=_DRIVER_VERSION,
        cuda_version=nvidia_facts.cuda_version_of(_DRIVER_VERSION),
        chart=driver.versions[-1],
    )


@cache
def _only_of_partitions() -> frozenset[str]:
    return frozenset(
        item.name
        for item in nvidia_facts.driver().attributes
        if _WHOLE not in (*item.always, *item.sometimes)
    )


def _known(model: GpuModel, published: PublishedDevice, profile: str) -> KnownDevice:
    device = published.to_object()
    unsure = {*_HOST, *published.assumed}
    attributes = {name: UNKNOWN if name in unsure else value for name, value in device["attributes"].items()}
    capacity = {
        name: UNKNOWN if name in unsure else one_of(value, published.others.get(name, ()))
        for name, value in device.get("capacity", {}).items()
    }
    facts = nvidia_facts.driver()
    kind = _PARTITION if profile else _WHOLE
    for item in facts.attributes:  # what only some hosts or versions of the driver publish
        if kind in item.sometimes:
            attributes.setdefault(item.name, UNKNOWN)
    for item in facts.capacities:
        if kind in item.sometimes:
            capacity.setdefault(item.name, UNKNOWN)
    name = model.product_name or model.name
    own = {name: value for name, value in attributes.items() if name not in _only_of_partitions()}
    return KnownDevice(
        title=f"{profile} of {name}" if profile else name,
        driver=DRIVER,
        device={**device, "attributes": attributes, "capacity": capacity},
        whole_attributes={**own, "type": {"string": _WHOLE}},
    )


DIVIDABLE = Dividable(
    whole=whole_gpus,
    partitions=partitions,
    layouts=_layouts,
    is_partition="device.attributes['gpu.nvidia.com'].type == 'mig'",
    partition_class="mig.nvidia.com",
    label=MIG_CONFIG,
    whole_label=MIG_NONE,
    progress=Progress(
        key=MIG_STATE, ready=MIG_READY, before=(MissingLabel.ABSENT, "pending", "rebooting", "failed")
    ),
    switch="featureGates.DynamicMIG",
    # https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html
    operator_values=(
        ("migManager.config.default", frozenset({"", MIG_NONE})),
        ("mig.strategy", frozenset({"", "none", "single"})),  # `single` is the default, with MIG or without
    ),
    # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/tree/main/api/nvidia.com/resource/v1beta1
    config_kinds=frozenset({"MigDeviceConfig"}),
    # https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html: the label
    # nvidia.com/mig.config makes partitions, the strategy only names their resources.
    hollow_values=(("mig.strategy", "single"),),
    maker="migManager.enabled",
)

RESOURCES = DriverResources(
    known_by="gpus",
    publishes=Switch(key="resources.gpus.enabled", default=True),
    program=re.compile(r"(^|[\s/])gpu-kubelet-plugin(?![\w-])"),
    node_taint=_TAINT,
    node_labels=re.compile(r"^nvidia\.com/"),
    # https://docs.nvidia.com/nim-operator/, https://docs.nvidia.com/dynamo/
    workloads=re.compile(r"kubernetes:(apps\.nvidia\.com/\w+:\w+|nvidia\.com/\w+:(Dynamo\w+|NVIDIADriver))"),
    root=KEY,
    device_plugin=DevicePlugin(
        chart="nvidia-device-plugin",
        # https://github.com/NVIDIA/k8s-device-plugin/tree/main/cmd
        programs=re.compile(r"(^|[\s/])(nvidia(-gpu)?-device-plugin|nvidia/k8s-device-plugin)(?![\w-])"),
        shared_images=re.compile(r"(^|/)k8s-device-plugin(@|:|$)"),
        settings=re.compile(r"MIG_STRATEGY|DEVICE_(LIST|ID)_STRATEGY|NVIDIA_MIG_MONITOR_DEVICES"),
        other_programs=re.compile(r"gpu-feature-discovery|mps-control-daemon|config-manager"),
        vendors=re.compile(r"(?i)(?<![a-z0-9])(rocm|amd|intel|habana|gaudi|ascend|neuron)(?![a-z0-9])"),
        # https://github.com/NVIDIA/k8s-device-plugin/blob/main/deployments/helm/nvidia-device-plugin/values.yaml
        labels={"feature.node.kubernetes.io/pci-10de.present": "true", "nvidia.com/gpu.present": "true"},
        tolerations=(
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"key": _TAINT, "operator": "Exists", "effect": "NoSchedule"},
        ),
        discovers=Switch(key="gfd.enabled", default=False),
        # https://github.com/NVIDIA/k8s-device-plugin#configuration-option-details
        limits=re.compile(r"nvidia\.com/(gpu|mig-[\w.]+)(\.shared)?"),
    ),
    other_plugins=(
        OtherPlugin(
            title="HAMi",
            charts=frozenset({"hami", "hami-vgpu", "vgpu"}),
            programs=re.compile(r"(^|[\s/])(hami|k8s-vgpu|hami-device-plugin)(?![\w-])"),
            source="https://github.com/Project-HAMi/HAMi/tree/master/charts/hami",
            date="2026-11-25",
        ),
        OtherPlugin(
            title="Volcano",
            charts=frozenset({"volcano-device-plugin", "volcano-vgpu-device-plugin"}),
            programs=re.compile(r"(^|[\s/])volcano-(vgpu-)?device-plugin(?![\w-])"),
            source="https://github.com/Project-HAMi/volcano-vgpu-device-plugin",
            date="2026-11-25",
        ),
        OtherPlugin(
            title="gpushare",
            charts=frozenset({"gpushare-installer", "gpushare-device-plugin"}),
            programs=re.compile(r"(^|[\s/])(gpushare-device-plugin(-v2)?|k8s-gpushare-plugin)(?![\w-])"),
            source="https://github.com/AliyunContainerService/gpushare-device-plugin",
            date="2026-11-25",
        ),
        OtherPlugin(
            title="nvshare",
            charts=frozenset({"nvshare"}),
            programs=re.compile(r"(^|[\s/:])nvshare-device-plugin(?![\w])"),
            source="https://github.com/grgalex/nvshare",
            date="2026-11-25",
        ),
    ),
    # https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html
    operator=Operator(
        chart="gpu-operator",
        title="the GPU Operator",
        versions=_operator_versions,
        policies=re.compile(r"kubernetes:nvidia\.com/v1:ClusterPolicy(Patch)?"),
        dra=Switch(key="gpuCluster.deployCR", default=False),
        device_plugin=Switch(key="devicePlugin.enabled", default=True),
        device_plugin_kept_off=("nvidia.com/gpu.deploy.operands", "nvidia.com/gpu.deploy.device-plugin"),
        tolerations="daemonsets.tolerations",
        kernel_driver=Switch(key="driver.enabled", default=True),
        kernel_driver_kept_off=("nvidia.com/gpu.deploy.operands", "nvidia.com/gpu.deploy.driver"),
        root=INSTALL_DIR,
        default_root=OF_OPERATOR,
        discovers=Switch(key="nfd.enabled", default=True),
        labels=(MIG_STATE, "nvidia.com/gpu.deploy."),
        # https://github.com/NVIDIA/k8s-device-plugin/tree/main/docs/gpu-feature-discovery#generated-labels
        finds=re.compile(
            r"^(feature\.node\.kubernetes\.io/|nvidia\.com/(cuda\.|gfd\.|vgpu\.|mig-|mps\.capable$"
            r"|mig\.(capable|strategy|config\.state)$"
            r"|gpu\.(clique|compute\.|count|family|machine|memory|mode|product|replicas|sharing-strategy)))"
        ),
    ),
    discovery_charts=frozenset({"node-feature-discovery", "gpu-feature-discovery"}),
    # https://catalog.ngc.nvidia.com/helm-charts, https://github.com/NVIDIA/dcgm-exporter
    other_charts=frozenset(
        {"dcgm-exporter", "network-operator", "k8s-nim-operator", "nim-llm", "kai-scheduler"}
    ),
    known_by_values=(
        # https://github.com/NVIDIA/gpu-operator/blob/main/deployments/gpu-operator/values.yaml
        KnownByValues(
            chart="gpu-operator",
            keys=frozenset(
                {
                    "driver",
                    "toolkit",
                    "devicePlugin",
                    "migManager",
                    "dcgmExporter",
                    "gfd",
                    "nodeStatusExporter",
                }
                | {"vgpuManager", "sandboxDevicePlugin", "gpuCluster"}
            ),
            enough=2,
        ),
        # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/tree/main/deployments/helm
        KnownByValues(
            chart="dra-driver-nvidia-gpu",
            keys=frozenset(
                {"gpuResourcesEnabledOverride", "resources.gpus.enabled", "resources.computeDomains.enabled"}
            ),
            enough=1,
        ),
        # https://github.com/NVIDIA/k8s-device-plugin/blob/main/deployments/helm/nvidia-device-plugin/values.yaml
        KnownByValues(
            chart="nvidia-device-plugin", keys=frozenset({"deviceListStrategy", "deviceIDStrategy"}), enough=1
        ),
        KnownByValues(  # each alone is in the values of other charts too
            chart="nvidia-device-plugin",
            keys=frozenset({"migStrategy", "failOnInitError", "compatWithCPUManager", "nvidiaDriverRoot"}),
            enough=2,
        ),
    ),
    dividable=DIVIDABLE,
    installer_images=re.compile(r"nvidia-(driver-)?installer|gpu-installer|(^|/)nvidia/driver(:|@|$)"),
)
