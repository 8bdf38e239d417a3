"""The configuration of the operator's device plugin on a node: how often it advertises each GPU.

Source: https://github.com/NVIDIA/k8s-device-plugin/blob/v0.18.0/README.md (node label, ConfigMap, `sharing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import yaml
from pydantic import BaseModel, Field, ValidationError

from dra_fleet.clusters.client import ApiError
from dra_fleet.drivers.nvidia.labels import PLUGIN_CONFIG
from dra_fleet.drivers.nvidia.simulation.operator.labels import WHOLE
from dra_fleet.drivers.nvidia.simulation.operator.operands import PLUGIN_VOLUME
from dra_fleet.rehearsal.drivers.plugin import environment_of

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object

_NOT_FOUND: Final = 404


class _Replicated(BaseModel):
    name: str
    replicas: int


class _Shared(BaseModel):
    resources: tuple[_Replicated, ...] = ()


class _Sharing(BaseModel):
    time_slicing: _Shared = Field(default=_Shared(), alias="timeSlicing")
    mps: _Shared = _Shared()


class _Config(BaseModel):
    sharing: _Sharing = _Sharing()


class PluginConfigInvalid(Exception):  # noqa: N818 - the configuration is invalid; that is the sentence
    """The plugin cannot use its configuration."""


async def selected(pod: Object, api: KubeApi, kubelet: KubeApi) -> tuple[str, int] | None:
    """Return strategy and replicas that a plugin's pod finds; None if it advertises each GPU once.

    Args:
        pod: the plugin's.
        api: acts as the pod, which reads its node's label.
        kubelet: acts as the kubelet, which mounts the ConfigMap.

    Raises:
        PluginConfigInvalid: the ConfigMap or the selected entry is missing, or the entry cannot be read.
    """
    volumes: list[Object] = pod["spec"].get("volumes", [])
    mounted = next((item["configMap"]["name"] for item in volumes if item["name"] == PLUGIN_VOLUME), None)
    if mounted is None:
        return None
    node = await api.get("v1", "Node", pod["spec"]["nodeName"])
    default = environment_of(pod["spec"]["containers"][0]).get("DEFAULT_CONFIG", "")
    entry = node["metadata"].get("labels", {}).get(PLUGIN_CONFIG, default)
    try:
        body = await kubelet.get("v1", "ConfigMap", mounted, pod["metadata"]["namespace"])
    except ApiError as error:
        if error.code != _NOT_FOUND:
            raise
        raise PluginConfigInvalid(f'configmap "{mounted}" not found') from error
    data: dict[str, str] = body.get("data", {})
    if entry and entry not in data:
        raise PluginConfigInvalid(
            f"specified config {entry} does not exist; the ConfigMap has: {', '.join(data)}"
        )
    return shared(data[entry]) if entry else None


def shared(text: str) -> tuple[str, int] | None:
    """Return strategy and replicas of whole GPUs in a configuration of the plugin.

    Raises:
        PluginConfigInvalid: it is no such configuration.
    """
    try:
        sharing = _Config.model_validate(yaml.safe_load(text) or {}).sharing
    except (yaml.YAMLError, ValidationError) as error:
        raise PluginConfigInvalid(f"unable to parse the configuration: {error}") from error
    for strategy, found in (("time-slicing", sharing.time_slicing), ("mps", sharing.mps)):
        for item in found.resources:
            if item.name == WHOLE and item.replicas > 1:
                return strategy, item.replicas
    return None
