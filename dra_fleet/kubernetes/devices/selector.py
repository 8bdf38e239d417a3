"""Selectors: CEL expressions over one device. Only their size is judged here; `cel` compiles them."""

from typing import Annotated

from pydantic import AfterValidator, Field

from dra_fleet.kubernetes.devices.base import DeviceModel
from dra_fleet.kubernetes.devices.problem import refuse

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
    """One condition on a device; all of a list must hold."""

    cel: CelSelector


Selectors = Annotated[tuple[DeviceSelector, ...], Field(max_length=MAX_SELECTORS)]


def selectors(*expressions: str) -> tuple[DeviceSelector, ...]:
    """Selectors from their expressions."""
    return tuple(DeviceSelector(cel=CelSelector(expression=expression)) for expression in expressions)
