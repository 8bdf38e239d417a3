"""The spec of a DeviceClass, with the API server's own rules.

Source: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/device-class-v1/
"""

import json
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from dra_fleet.kubernetes.devices.base import DeviceModel, refuse
from dra_fleet.kubernetes.devices.names import DriverName, ExtendedResourceName

MAX_EXPRESSION_BYTES = 10 * 1024

MAX_SELECTORS = 32


def _expression(text: str) -> str:
    size = len(text.encode())
    if not text.strip():
        raise refuse("must be a CEL expression, this is empty", fix="device.driver == 'gpu.nvidia.com'")
    if size > MAX_EXPRESSION_BYTES:
        raise refuse(f"must be at most {MAX_EXPRESSION_BYTES} bytes, this is {size}")
    return text


Expression = Annotated[str, AfterValidator(_expression)]


class CelSelector(DeviceModel):
    """The CEL expression of a selector."""

    expression: Expression


class DeviceSelector(DeviceModel):
    """A condition on a device; all conditions of a list must be true."""

    cel: CelSelector


Selectors = Annotated[tuple[DeviceSelector, ...], Field(max_length=MAX_SELECTORS)]


def selectors(*expressions: str) -> tuple[DeviceSelector, ...]:
    """Selectors from their expressions."""
    return tuple(DeviceSelector(cel=CelSelector(expression=expression)) for expression in expressions)


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


MAX_CONFIG = 32


class DeviceClassSpec(DeviceModel):
    """The devices of a class, their configuration, and the extended resource's name."""

    selectors: Selectors = ()
    config: Annotated[tuple[DeviceClassConfig, ...], Field(max_length=MAX_CONFIG)] = ()
    extended_resource_name: ExtendedResourceName | None = None
