"""A quantity as a field of a model: checked, and kept as its canonical text."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema

from dra_fleet.kubernetes.devices.problem import as_server, refuse
from dra_fleet.kubernetes.devices.quantity import ALLOWED, Quantity


def _canonical(value: object, info: ValidationInfo) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = repr(value)
    if not isinstance(value, str):
        return value
    fix = "for example 20Gi, 9728Mi or 500m"
    try:
        canonical = str(Quantity.parse(value))
    except ValueError:
        raise refuse("is no Kubernetes quantity", allowed=ALLOWED, fix=fix, decoding=True) from None
    if not as_server(info) and not any(character.isdigit() for character in value):
        raise refuse("is a quantity without a number, which the API server reads as 0", fix=fix)
    return canonical


QuantityText = Annotated[
    str, BeforeValidator(_canonical), WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}]})
]
"""A quantity kept as its canonical text."""
