"""What makes NVIDIA GPUs allocatable, and on which nodes: DRA drivers, device plugins, clouds' plugins."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from dra_fleet.kubernetes.scheduling.node_affinity import RequiredNodeAffinity, Requirement
from dra_fleet.kubernetes.scheduling.taints import Toleration
from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.reading.placement import placement
from dra_fleet.policy.reading.plugins import NVIDIA, driver_plugin, is_on
from dra_fleet.policy.reading.tolerations import Tolerated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Resource, Stack
    from dra_fleet.declared.values import Value
    from dra_fleet.policy.reading.charts import Release

Kind = Literal["dra", "plugin"]

PLUGIN_CHART: Final = "nvidia-device-plugin"
DISCOVERY_CHARTS: Final = frozenset({"node-feature-discovery", "gpu-feature-discovery"})
_DAEMON_SET: Final = re.compile(r"kubernetes:apps/v\w+:DaemonSet(Patch)?")
_PLUGIN_IMAGE: Final = re.compile(r"(^|/)(k8s-device-plugin|nvidia-gpu-device-plugin)(@|:|$)")
_PLUGIN_TOLERATES: Final = (
    Toleration(key="CriticalAddonsOnly", operator="Exists"),
    Toleration(key="nvidia.com/gpu", operator="Exists", effect="NoSchedule"),
)
_LABELLED_BY_DISCOVERY: Final = {
    "feature.node.kubernetes.io/pci-10de.present": "true",
    "nvidia.com/gpu.present": "true",
}
"""The defaults of the device plugin's chart: its tolerations, and the labels of which its affinity needs one.

https://github.com/NVIDIA/k8s-device-plugin/blob/main/deployments/helm/nvidia-device-plugin/values.yaml
"""
# https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html
_OPERATOR_LABELS: Final = ("nvidia.com/gpu.deploy.operands", "nvidia.com/gpu.deploy.device-plugin")


@dataclass(frozen=True, kw_only=True)
class Advertiser:
    """Something that tells the scheduler of the GPUs of nodes.

    Attributes:
        title: what it is, for messages.
        at: the place that turns it on.
        off: how to turn it off.
        where: the nodes that it chooses by their labels.
        tolerated: the taints that do not keep it off; None for every one.
    """

    resource: Resource
    kind: Kind
    title: str
    at: Value
    off: str
    where: RequiredNodeAffinity
    tolerated: Tolerated | None = None


def advertisers(stack: Stack) -> list[Advertiser]:
    """Those that a program installs, in order."""
    found: list[Advertiser] = []
    for resource in stack.resources:
        installed = release(resource)
        if installed is not None:
            found += _of_chart(resource, installed)
        elif _DAEMON_SET.fullmatch(resource.type):
            found += _of_daemon_set(resource)
    return found


def discovers(stack: Stack) -> list[Resource]:
    """The charts that label nodes by the GPUs found on them."""
    found: list[Resource] = []
    for resource in stack.of(RELEASE_TYPES):
        installed = release(resource)
        if installed is None:
            continue
        own_discovery = installed.is_gpu_operator and installed.value("nfd.enabled").flag is not False
        with_plugin = installed.chart_name == PLUGIN_CHART and installed.value("gfd.enabled").flag
        if own_discovery or with_plugin or installed.chart_name in DISCOVERY_CHARTS:
            found.append(resource)
    return found


def _of_chart(resource: Resource, installed: Release) -> Iterator[Advertiser]:
    if installed.is_gpu_operator:
        yield from _of_operator(resource, installed)
    elif installed.driver is not None and installed.driver.name == NVIDIA:
        plugin = driver_plugin(installed)
        if plugin is not None:
            yield Advertiser(
                resource=resource,
                kind="dra",
                title="the DRA driver",
                at=installed.value("resources.gpus.enabled"),
                off="set resources.gpus.enabled: false",
                where=plugin.where,
                tolerated=plugin.tolerated,
            )
    elif installed.chart_name == PLUGIN_CHART:
        yield Advertiser(
            resource=resource,
            kind="plugin",
            title="the device plugin's chart",
            at=installed.chart,
            off="remove it, or keep it off the pools of the DRA driver by a nodeSelector",
            where=placement(installed.values, _LABELLED_BY_DISCOVERY),
            tolerated=Tolerated(given=installed.value("tolerations"), otherwise=_PLUGIN_TOLERATES),
        )


def _of_operator(resource: Resource, installed: Release) -> Iterator[Advertiser]:
    cluster = installed.value("gpuCluster.deployCR")
    if is_on(cluster, default=False):
        yield Advertiser(
            resource=resource,
            kind="dra",
            title="the GPU Operator's DRA driver",
            at=cluster,
            off="remove gpuCluster.deployCR",
            where=RequiredNodeAffinity(),
        )
        return
    plugin = installed.value("devicePlugin.enabled")
    if is_on(plugin, default=True):
        version = installed.known_version
        default = None if version is None else [Toleration.of(each) for each in version.plugin_tolerations]
        on_all = tuple(Requirement(key=key, operator="NotIn", values=("false",)) for key in _OPERATOR_LABELS)
        yield Advertiser(
            resource=resource,
            kind="plugin",
            title="the GPU Operator's device plugin",
            at=plugin,
            off=f'set devicePlugin.enabled: false, or label the pools {_OPERATOR_LABELS[1]}: "false"',
            where=RequiredNodeAffinity(selector=on_all),
            tolerated=Tolerated(given=installed.value("daemonsets.tolerations"), otherwise=default),
        )


def _of_daemon_set(resource: Resource) -> Iterator[Advertiser]:
    pods = resource.get("spec", "template", "spec")
    for image in pods.every("containers", "*", "image"):
        if _PLUGIN_IMAGE.search(image.text or ""):
            yield Advertiser(
                resource=resource,
                kind="plugin",
                title="the device plugin's DaemonSet",
                at=image,
                off="remove it, or keep it off the pools of the DRA driver by a nodeSelector",
                where=placement(pods),
                tolerated=Tolerated(given=pods.get("tolerations")),
            )
