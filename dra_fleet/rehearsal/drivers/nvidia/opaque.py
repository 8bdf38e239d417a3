"""The NVIDIA driver's opaque configuration, decoded and judged as its kubelet plugin does at prepare time.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `api/nvidia.com/resource/v1beta1` and
`cmd/gpu-kubelet-plugin/device_state.go` (v0.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dra_fleet.rehearsal.drivers.plugin import PrepareFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import Object

API_VERSION = "resource.nvidia.com/v1beta1"

# Nested field names by kind; a type ends a branch, None stands for any, "*" for any key.
_MPS: Object = {
    "defaultActiveThreadPercentage": int,
    "defaultPinnedDeviceMemoryLimit": None,
    "defaultPerDevicePinnedMemoryLimit": {"*": None},
    "multiUser": bool,
}
FIELDS: Mapping[str, Object] = {
    "GpuConfig": {
        "sharing": {"strategy": str, "timeSlicingConfig": {"interval": str}, "mpsConfig": _MPS},
    },
    "MigDeviceConfig": {"sharing": {"strategy": str, "mpsConfig": _MPS}},
    "VfioDeviceConfig": {"iommu": {"backendPolicy": str, "enableAPIDevice": bool}},
}
DEVICE_TYPES: Mapping[str, str] = {"GpuConfig": "gpu", "MigDeviceConfig": "mig", "VfioDeviceConfig": "vfio"}
_GATES: Mapping[str, str] = {"TimeSlicing": "TimeSlicingSettings", "MPS": "MPSSupport"}
_ALL = 100
_INTERVALS = ("Default", "Short", "Medium", "Long")


def judge(parameters: Object, gates: Mapping[str, bool], requests: list[str], uid: str) -> None:
    """Check one decoded configuration, and what applying it would refuse.

    Args:
        parameters: the configuration.
        gates: the driver's feature gates.
        requests: the requests that it is applied to.
        uid: of the claim.

    Raises:
        PrepareFailed: with the driver's words.
    """
    sharing = parameters.get("sharing")
    if sharing is None:
        return
    problem = _invalid(sharing, gates)
    if problem:
        raise PrepareFailed(f"error validating GPU config: {problem}")
    strategy = sharing["strategy"]
    if strategy == "TimeSlicing" and sharing.get("mpsConfig") is not None:
        raise PrepareFailed(
            f"error applying config: error getting timeslice config for requests '[{' '.join(requests)}]' "
            f"in claim '{uid}': cannot use MpsConfig with the 'TimeSlicing' strategy"
        )
    if strategy == "MPS" and sharing.get("timeSlicingConfig") is not None:
        raise PrepareFailed(
            "error applying config: error getting MPS configuration: cannot use TimeSlicingConfig with the "
            "'MPS' strategy"
        )


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
        below: Any = fields.get(key, fields.get("*", ...))
        if below is ...:
            raise PrepareFailed(
                f'error decoding config parameters: strict decoding error: unknown field "{path}{key}"'
            )
        if item is None or below is None:
            continue
        wanted: type = dict if isinstance(below, dict) else below
        if not isinstance(item, wanted) or (wanted is int and isinstance(item, bool)):
            raise PrepareFailed(
                f"error decoding config parameters: json: cannot unmarshal {_json_type(item)} into Go struct "
                f"field {path}{key}"
            )
        if isinstance(item, dict):
            _strict(cast("Object", item), cast("Object", below), f"{path}{key}.")


def _json_type(value: object) -> str:
    """What Go calls a value of JSON."""
    names: dict[type, str] = {str: "string", bool: "bool", list: "array", dict: "object"}
    return names.get(type(value), "number")


def _invalid(sharing: Object, gates: Mapping[str, bool]) -> str:
    """Why the driver finds how a device is shared not valid; empty where it does not."""
    strategy = sharing.get("strategy", "")
    gate = _GATES.get(strategy)
    if gate is None:
        known = ", ".join(_GATES)
        return f"unknown GPU sharing strategy: {strategy}, supported GPU sharing strategies: {known}"
    if not gates.get(gate, True):
        return (
            f'"{strategy}" is selected as the GPU sharing strategy, but the "{gate}" feature gate is not '
            "enabled"
        )
    slicing = sharing.get("timeSlicingConfig")
    interval = "Default" if slicing is None else slicing.get("interval")
    if strategy == "TimeSlicing" and interval is None:
        return "panic: runtime error: invalid memory address or nil pointer dereference"
    if strategy == "TimeSlicing" and interval not in _INTERVALS:
        known = ", ".join(_INTERVALS)
        return f"unknown time-slice interval: {interval}, supported time-slice intervals: {known}"
    return _invalid_share(sharing.get("mpsConfig") or {}) if strategy == "MPS" else ""


def _invalid_share(config: Object) -> str:
    percentage = config.get("defaultActiveThreadPercentage") or 0
    if percentage < 0:
        return "active thread percentage must not be negative"
    return "active thread percentage must not be greater than 100" if percentage > _ALL else ""
