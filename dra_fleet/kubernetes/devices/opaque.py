"""Opaque driver configuration in classes and claims: only its envelope; each driver knows what is inside."""

import json
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator

from dra_fleet.kubernetes.devices.base import DeviceModel
from dra_fleet.kubernetes.devices.names import DriverName
from dra_fleet.kubernetes.devices.problem import refuse

MAX_PARAMETERS_BYTES = 10 * 1024


def _parameters_size(value: dict[str, Any]) -> dict[str, Any]:
    size = len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())
    if size > MAX_PARAMETERS_BYTES:
        raise refuse(f"must be at most {MAX_PARAMETERS_BYTES} bytes as JSON, this is {size}")
    return value


class OpaqueConfig(DeviceModel):
    """Parameters that a driver reads when it prepares a device; a JSON object, possibly empty."""

    kept_when_empty: ClassVar[frozenset[str]] = frozenset({"parameters"})

    driver: DriverName
    parameters: Annotated[dict[str, Any], AfterValidator(_parameters_size)]


class DeviceClassConfig(DeviceModel):
    """Configuration that a class adds to every claim of it."""

    opaque: OpaqueConfig
