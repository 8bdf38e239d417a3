"""Limits of pinned memory of a device that is shared by MPS, as the NVIDIA driver takes them.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/api/nvidia.com/resource/v1beta1/sharing.go
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.rehearsal.drivers.decoding import section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import Object

_MIB = 2**20
_DECIMAL = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)([^0-9.].*)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def refused_limits(config: Object, uuids: Sequence[str]) -> str:
    """Why the driver refuses the limits of a claim's devices; empty where it does not.

    Args:
        config: `mpsConfig`, decoded.
        uuids: the devices', in the order of the indexes by which they may be named.
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
    """A quantity as the struct that it is, which the driver's message shows.

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
