"""The NVIDIA driver's opaque configuration, decoded and judged as its kubelet plugin does at prepare time.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `api/nvidia.com/resource/v1beta1` and
`cmd/gpu-kubelet-plugin/{device_state,sharing}.go` (main, 2026-08-07).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dra_fleet.rehearsal.drivers.plugin import PrepareFailed

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object

API_VERSION = "resource.nvidia.com/v1beta1"

# Nested field names by kind; None ends a branch, "*" stands for any key.
_MPS: Object = {
    "defaultActiveThreadPercentage": None,
    "defaultPinnedDeviceMemoryLimit": None,
    "defaultPerDevicePinnedMemoryLimit": {"*": None},
    "multiUser": None,
}
_FIELDS: Mapping[str, Object] = {
    "GpuConfig": {
        "sharing": {"strategy": None, "timeSlicingConfig": {"interval": None}, "mpsConfig": _MPS},
    },
    "MigDeviceConfig": {"sharing": {"strategy": None, "mpsConfig": _MPS}},
    "VfioDeviceConfig": {"iommu": {"backendPolicy": None, "enableAPIDevice": None}},
}
DEVICE_TYPES: Mapping[str, str] = {"GpuConfig": "gpu", "MigDeviceConfig": "mig", "VfioDeviceConfig": "vfio"}
_GATES: Mapping[str, str] = {"TimeSlicing": "TimeSlicingSettings", "MPS": "MPSSupport"}
_INTERVALS = ("Default", "Short", "Medium", "Long")


def judge(parameters: Object, gates: Mapping[str, bool]) -> str:
    """Decode one configuration strictly and check it; returns its kind.

    Raises:
        PrepareFailed: with the driver's words.
    """
    kind = decode(parameters, _FIELDS)
    sharing = parameters.get("sharing")
    if sharing is not None:
        _judge_sharing(sharing, gates)
    return kind


def decode(parameters: Object, kinds: Mapping[str, Object]) -> str:
    """Decode parameters strictly; returns their kind.

    Args:
        parameters: as they stand in the claim.
        kinds: the names of the fields of each kind; None ends a branch.

    Raises:
        PrepareFailed: with the driver's words.
    """
    version, kind = parameters.get("apiVersion", ""), parameters.get("kind", "")
    if version != API_VERSION or kind not in kinds:
        raise PrepareFailed(
            f'error decoding config parameters: no kind "{kind}" is registered for version "{version}" '
            "in scheme"
        )
    _strict(parameters, {"apiVersion": None, "kind": None, **kinds[kind]}, "")
    return str(kind)


def _strict(value: Mapping[str, Any], fields: Object, path: str) -> None:
    for key, item in value.items():
        below = fields.get(key, fields.get("*", ...))
        if below is ...:
            raise PrepareFailed(
                f'error decoding config parameters: strict decoding error: unknown field "{path}{key}"'
            )
        if isinstance(item, Mapping) and below is not None:
            _strict(item, below, f"{path}{key}.")  # pyright: ignore[reportUnknownArgumentType] - JSON


def _judge_sharing(sharing: Object, gates: Mapping[str, bool]) -> None:
    strategy = sharing.get("strategy", "")
    gate = _GATES.get(strategy)
    if gate is None:
        raise PrepareFailed(f"error validating config: unknown GPU sharing strategy: {strategy}")
    if not gates.get(gate, True):
        raise PrepareFailed(
            f"error validating config: {strategy} selected as the GPU sharing strategy, but the {gate} "
            "feature gate is not enabled"
        )
    other = "mpsConfig" if strategy == "TimeSlicing" else "timeSlicingConfig"
    if other in sharing:
        raise PrepareFailed(f"error validating config: cannot use {other} with strategy {strategy}")
    interval = sharing.get("timeSlicingConfig", {"interval": "Default"}).get("interval")
    if interval not in _INTERVALS:
        raise PrepareFailed(f"error validating config: unknown time-slice interval: {interval}")
    percentage = sharing.get("mpsConfig", {}).get("defaultActiveThreadPercentage", 0)
    if not 0 <= percentage <= 100:  # noqa: PLR2004 - a percentage
        raise PrepareFailed(
            f"error validating config: active thread percentage must be between 0 and 100, got {percentage}"
        )
