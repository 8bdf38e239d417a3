"""DeviceClasses: by what a workload needs, or by CEL written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self, cast

from pydantic import Field, Tag, model_validator

from fleet.devices.names import ExtendedResourceName
from fleet.devices.problem import choose, refuse
from fleet.devices.quantity import Quantity
from fleet.devices.quantity_text import QuantityText
from fleet.devices.selector import MAX_SELECTORS, Expression
from fleet.settings.base import Settings


class AmountRange(Settings):
    """Amounts as the driver reports them: an 80 GB H100 has 81559Mi, a 1g.10gb partition 9728Mi."""

    min: QuantityText | None = None
    max: QuantityText | None = None

    @model_validator(mode="after")
    def _something_to_compare(self) -> Self:
        if self.min is None and self.max is None:
            raise refuse("must have min, max or both")
        if (
            self.min is not None
            and self.max is not None
            and Quantity.parse(self.min) > Quantity.parse(self.max)
        ):
            raise refuse(f"must have min at most max, this is {self.min} and {self.max}")
        return self


class VersionRange(Settings):
    """Versions at least and at most, such as a compute capability of 8.0."""

    min: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$")] | None = None
    max: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$")] | None = None

    @model_validator(mode="after")
    def _something_to_compare(self) -> Self:
        if self.min is None and self.max is None:
            raise refuse("must have min, max or both")
        return self


class OpaqueSettings(Settings):
    """Configuration for the driver that prepares the device."""

    driver: str
    parameters: dict[str, Any]


class CommonClassSettings(Settings):
    """What both kinds of class have in common."""

    extended_resource_name: ExtendedResourceName | None = None
    config: tuple[OpaqueSettings, ...] = ()


class IntentClass(CommonClassSettings):
    """Devices of one driver by what they are and have; every condition given must hold."""

    driver: Annotated[str, Field(description="Name of the DRA driver, for example nvidia")]
    type: Annotated[str, Field(description="Device type of the driver: gpu, mig, vfio")] | None = None
    product: (
        Annotated[str, Field(min_length=1, description="Exact product name as the driver reports it")] | None
    ) = None
    architecture: Annotated[str, Field(min_length=1)] | None = None
    profile: Annotated[str, Field(min_length=1, description="MIG profile")] | None = None
    compute_capability: VersionRange | None = None
    memory: AmountRange | None = None
    multiprocessors: AmountRange | None = None


class CelClass(CommonClassSettings):
    """Devices by CEL expressions, all of which must hold."""

    cel: Annotated[tuple[Expression, ...], Field(min_length=1, max_length=MAX_SELECTORS)]


def _kind(value: object) -> str | None:
    if isinstance(value, CelClass):
        return "<cel>"
    if isinstance(value, IntentClass):
        return "<intent>"
    if not isinstance(value, Mapping):
        return None
    return "<cel>" if "cel" in cast("Mapping[str, Any]", value) else "<intent>"


ClassSettings = Annotated[
    Annotated[IntentClass, Tag("<intent>")] | Annotated[CelClass, Tag("<cel>")],
    choose(_kind, "must be a mapping", allowed="{driver, type, memory, …} or {cel: [expression, …]}"),
]
