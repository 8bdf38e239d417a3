"""The NVIDIA driver's opaque configuration and feature gates, checked as its binaries do.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `api/nvidia.com/resource/v1beta1` and
`cmd/gpu-kubelet-plugin/device_state.go` (v0.5.0).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from dra_fleet.drivers.nvidia.driver import DRIVER
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.rehearsal.drivers.decoding import BOOL, INT, QUANTITY, STRING, Go, section
from dra_fleet.rehearsal.drivers.object_metadata import METADATA, items
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed, StartFailed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.drivers.common.facts import ChartVersion


# Limits of pinned memory of a device that is shared by MPS, as the NVIDIA driver takes them.
#
# Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-
# gpu/blob/v0.5.0/api/nvidia.com/resource/v1beta1/sharing.go

_MIB = 2**20

_DECIMAL = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)([^0-9.].*)?", re.ASCII)

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)

API_VERSION = "resource.nvidia.com/v1beta1"

_MPS = Go(
    "v1beta1.MpsConfig",
    dict,
    {
        "defaultActiveThreadPercentage": INT,
        "defaultPinnedDeviceMemoryLimit": QUANTITY,
        "defaultPerDevicePinnedMemoryLimit": Go(
            "v1beta1.MpsPerDevicePinnedMemoryLimit", dict, {"*": QUANTITY}
        ),
        "multiUser": BOOL,
    },
)

_STRATEGY = Go("v1beta1.GpuSharingStrategy", str)

_SLICING = Go("v1beta1.TimeSlicingConfig", dict, {"interval": Go("v1beta1.TimeSliceInterval", str)})

_BACKEND = Go("v1beta1.IOMMUBackendPolicy", str)

_CHANNEL = Go(
    "v1beta1.ComputeDomainChannelSpec",
    dict,
    {
        "resourceClaimTemplate": Go("v1beta1.ComputeDomainResourceClaimTemplate", dict, {"name": STRING}),
        "allocationMode": STRING,
    },
)

_DAEMON: Mapping[str, Go] = {"ipAddress": STRING, "cliqueID": STRING, "index": INT, "status": STRING}

_OBJECTS: Mapping[str, Mapping[str, Go]] = {
    "ComputeDomain": {
        "metadata": METADATA,
        "spec": Go("v1beta1.ComputeDomainSpec", dict, {"numNodes": INT, "channel": _CHANNEL}),
        "status": Go(
            "v1beta1.ComputeDomainStatus",
            dict,
            {"status": STRING, "nodes": items("*v1beta1.ComputeDomainNode", {"name": STRING, **_DAEMON})},
        ),
    },
    "ComputeDomainClique": {
        "metadata": METADATA,
        "daemons": items("*v1beta1.ComputeDomainDaemonInfo", {"nodeName": STRING, **_DAEMON}),
    },
}
"""Whole objects: decoded with the kinds of configuration, and never recognized as one of them."""

FIELDS: Mapping[str, Mapping[str, Go]] = {
    "GpuConfig": {
        "sharing": Go(
            "v1beta1.GpuSharing",
            dict,
            {"strategy": _STRATEGY, "timeSlicingConfig": _SLICING, "mpsConfig": _MPS},
        )
    },
    "MigDeviceConfig": {
        "sharing": Go("v1beta1.MigDeviceSharing", dict, {"strategy": _STRATEGY, "mpsConfig": _MPS})
    },
    "VfioDeviceConfig": {
        "iommu": Go("v1beta1.IOMMUConfig", dict, {"backendPolicy": _BACKEND, "enableAPIDevice": BOOL})
    },
    "ComputeDomainChannelConfig": {"domainID": STRING, "allocationMode": STRING},
    "ComputeDomainDaemonConfig": {"domainID": STRING},
}

DEVICE_TYPES: Mapping[str, str] = {"GpuConfig": "gpu", "MigDeviceConfig": "mig", "VfioDeviceConfig": "vfio"}

_CLIQUES = "ComputeDomainCliques"

_GATES: Mapping[str, str] = {"TimeSlicing": "TimeSlicingSettings", "MPS": "MPSSupport"}

_ALL = 100

_INTERVALS = ("Default", "Short", "Medium", "Long")

_BACKENDS = ("LegacyOnly", "PreferIommuFD")


class Applied(Struct, frozen=True, kw_only=True):
    """Target of a configuration.

    Attributes:
        requests: The requests.
        uid: Of the claim.
        uuids: The devices', sorted.
        shares: Whether several claims may hold parts of a device.
    """

    requests: Sequence[str]
    uid: str
    uuids: Sequence[str]
    shares: bool


def kinds_in(chart: ChartVersion) -> Mapping[str, Mapping[str, Go]]:
    """Return the kinds of configuration that a version of the driver decodes, with their fields.

    Its plugins decode each other's too.
    """
    facts = DRIVER.facts
    kinds = dict(_OBJECTS)
    if _CLIQUES not in chart.feature_gates:
        del kinds["ComputeDomainClique"]
    for known in facts.parameters_in(chart.version):
        later = [
            field for field in known.fields if field.since and facts.is_older(chart.version, field.since)
        ]
        whole = Go(known.kind, dict, FIELDS[known.kind])
        kinds[known.kind] = whole.without([field.name.split(".") for field in later]).fields
    return kinds


def check(parameters: Object, gates: Mapping[str, bool], at: Applied) -> None:
    """Check one decoded configuration, and what applying it would refuse.

    Args:
        parameters: the configuration.
        gates: the driver's feature gates.
        at: to what it is applied.

    Raises:
        PrepareFailed: with the driver's words.
    """
    problem = invalid(parameters, gates)
    if problem:
        raise PrepareFailed(f"error validating GPU config: {problem}")
    problem = _not_applied(parameters, at)
    if problem:
        raise PrepareFailed(f"error applying config: {problem}")


def _not_applied(parameters: Object, at: Applied) -> str:
    sharing = section(parameters, "sharing")
    slicing, mps = sharing.get("timeSlicingConfig"), sharing.get("mpsConfig")
    if sharing.get("strategy") == "TimeSlicing" and mps is not None and _is_for_gpus(parameters):
        return (
            f"error getting timeslice config for requests '[{' '.join(at.requests)}]' "
            f"in claim '{at.uid}': cannot use MpsConfig with the 'TimeSlicing' strategy"
        )
    if sharing.get("strategy") != "MPS":
        return ""
    if at.shares:
        return "MPS sharing is not supported when consumable shares is enabled"
    if slicing is not None:
        return "error getting MPS configuration: cannot use TimeSlicingConfig with the 'MPS' strategy"
    return refused_limits(section(sharing, "mpsConfig"), at.uuids)


def normalized(parameters: Object, gates: Mapping[str, bool]) -> Object:
    """Return a valid configuration with its defaults; equal results mean equal configurations."""
    sharing = _without_nothing(parameters).get("sharing")
    if sharing is None:
        return {"kind": parameters["kind"]}
    implied: Object = {}
    if sharing["strategy"] == "TimeSlicing" and gates["TimeSlicingSettings"] and _is_for_gpus(parameters):
        implied = {"timeSlicingConfig": {"interval": "Default"}}
    if sharing["strategy"] == "MPS" and gates["MPSSupport"]:
        implied = {"mpsConfig": {}}
    return {"kind": parameters["kind"], "sharing": {**implied, **sharing}}


def _is_for_gpus(parameters: Object) -> bool:
    """Return True if time slicing sets anything, which it does only for whole GPUs."""
    return parameters["kind"] == "GpuConfig"


def _without_nothing(value: Object) -> Object:
    """Return a mapping without its nulls, which decode to absent fields."""
    return {
        key: _without_nothing(cast("Object", item)) if isinstance(item, dict) else item
        for key, item in value.items()
        if item is not None
    }


def invalid(parameters: Object, gates: Mapping[str, bool]) -> str:
    """Return why the driver rejects a decoded configuration; empty if it is valid."""
    backend = section(parameters, "iommu").get("backendPolicy") or _BACKENDS[0]
    if backend not in _BACKENDS:
        known = ", ".join(_BACKENDS)
        return f"unknown IOMMU backend policy: {backend}, supported IOMMU backend policies: {known}"
    sharing = parameters.get("sharing")
    return "" if sharing is None else _invalid_sharing(sharing, gates, parameters)


def _invalid_sharing(sharing: Object, gates: Mapping[str, bool], parameters: Object) -> str:
    strategy = sharing.get("strategy") or ""
    gate = _GATES.get(strategy)
    if gate is None:
        known = ", ".join(_GATES)
        return f"unknown GPU sharing strategy: {strategy}, supported GPU sharing strategies: {known}"
    if not gates.get(gate, True):
        return (
            f'"{strategy}" is selected as the GPU sharing strategy, but the "{gate}" feature gate is not '
            "enabled"
        )
    if strategy == "MPS":
        return _invalid_share(section(sharing, "mpsConfig"))
    return _invalid_interval(sharing.get("timeSlicingConfig")) if _is_for_gpus(parameters) else ""


def _invalid_interval(slicing: Object | None) -> str:
    interval = "Default" if slicing is None else slicing.get("interval")
    if interval is None:
        return "panic: runtime error: invalid memory address or nil pointer dereference"
    known = ", ".join(_INTERVALS)
    wrong = f"unknown time-slice interval: {interval}, supported time-slice intervals: {known}"
    return "" if interval in _INTERVALS else wrong


def _invalid_share(config: Object) -> str:
    percentage = config.get("defaultActiveThreadPercentage") or 0
    if percentage < 0:
        return "active thread percentage must not be negative"
    return "active thread percentage must not be greater than 100" if percentage > _ALL else ""


def refused_limits(config: Object, uuids: Sequence[str]) -> str:
    """Return why the driver rejects the limits of a claim's devices; empty if it does not.

    Args:
        config: `mpsConfig`, decoded.
        uuids: UUIDs of the devices, in the order of their indexes.
    """
    default = config.get("defaultPinnedDeviceMemoryLimit")
    named = section(config, "defaultPerDevicePinnedMemoryLimit")
    problems = [_low_default(default) if default is not None and uuids else ""]
    problems += [_unknown(key, uuids) or _low(key, limit) for key, limit in named.items()]
    first = next(filter(None, problems), "")
    step = "error transforming DefaultPerDevicePinnedMemoryLimit into string"
    return f"error starting MPS control daemon: {step}: {first}" if first else ""


def _low_default(limit: object) -> str:
    too_low = f"invalid limit: default value set too low: &{_as_go_prints(limit)}"
    return too_low if _megabytes(limit) <= 0 else ""


def _low(key: str, limit: object) -> str:
    too_low = f"invalid limit: value set too low: {key}: {_as_go_prints(limit)}"
    return too_low if _megabytes(limit) <= 0 else ""


def _unknown(key: str, uuids: Sequence[str]) -> str:
    if key in uuids:
        return ""
    if _INTEGER.fullmatch(key) is None:
        return f"invalid device: unable to parse key as an integer: {key}"
    return "" if 0 <= int(key) < len(uuids) else f"invalid device: invalid device index: {int(key)}"


def _megabytes(limit: object) -> int:
    return int(math.ceil(Quantity.parse(str(limit or 0).strip()).amount) / _MIB)


def _as_go_prints(limit: object) -> str:
    """Return a quantity as a Go struct, which the driver's message shows.

    Source: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/resource/quantity.go
    """
    text = str(limit or 0).strip()
    read = Quantity.parse(text)
    value, scale = math.ceil(read.amount), 0
    if read.format != "BinarySI" and (parts := _DECIMAL.fullmatch(text)):
        sign, whole, fraction, suffix = (part or "" for part in parts.groups())
        unit = Quantity.parse(f"1{suffix}").amount
        scale = round(math.log10(unit)) - len(fraction)
        value = int(f"{sign}{whole}{fraction}")
    return f"{{{{{value} {scale}}} {{<nil>}} {limit or 0} {read.format}}}"


# The catalogue has the gates of each version and the gates that exclude each other. Source:
# https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, main of 2026-08-07,
# `pkg/featuregates/featuregates.go`.

NOT_REHEARSED = ("PassthroughSupport", "FabricManagerPartitioning")
"""Gates that change the published devices in a way the rehearsal does not make up."""


def chart_version(version: str) -> ChartVersion:
    """Return the facts of a driver's version; for an unknown version, those of the newest."""
    driver = DRIVER.facts
    return driver.version(version) or driver.versions[-1]


def feature_gates(environment: Mapping[str, str], version: str) -> Mapping[str, bool]:
    """All gates with their values, from the container's FEATURE_GATES.

    Args:
        environment: the container's.
        version: of the driver, such as "0.5.0"; one the catalogue does not know counts as the newest.

    Raises:
        StartFailed: an unknown gate, a value that is not a boolean, gates that exclude each other, or a gate
            that a rehearsal cannot follow.
    """
    chart = chart_version(version)
    gates = dict(chart.feature_gates)
    for part in filter(None, environment.get("FEATURE_GATES", "").split(",")):
        name, _, value = part.strip().partition("=")
        if name not in gates:
            raise StartFailed(f"failed to set feature gates: unrecognized feature gate: {name}")
        if value not in ("true", "false"):
            raise StartFailed(f"failed to set feature gates: invalid value of {name}={value}: not a boolean")
        gates[name] = value == "true"
    _refuse_conflicts(gates, chart.version)
    return gates


def _refuse_conflicts(gates: Mapping[str, bool], version: str) -> None:
    for conflict in DRIVER.facts.gate_conflicts_in(version):
        other = gates.get(conflict.other, False)
        if not gates.get(conflict.gate, False) or other == (conflict.rule == "requires"):
            continue
        wish = (
            f"requires {conflict.other} to also be enabled"
            if conflict.rule == "requires"
            else f"is currently mutually exclusive with {conflict.other}"
        )
        raise StartFailed(f"feature gate validation failed: feature gate {conflict.gate} {wish}")


def refuse_what_is_not_rehearsed(gates: Mapping[str, bool]) -> None:
    """Say so instead of publishing something the real driver would not.

    Raises:
        StartFailed: a gate is on whose devices the rehearsal does not make up.
    """
    for gate in NOT_REHEARSED:
        if gates.get(gate, False):
            raise StartFailed(
                f"(rehearsal) feature gate {gate} changes the published devices in a way that is not "
                "simulated; rehearse without it"
            )
