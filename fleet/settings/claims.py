"""What pods ask for: requests by class, constraints between devices, configuration for the driver.

The words are Kubernetes' own; requests are a mapping by name because their order means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, Tag, model_validator

from fleet.devices.claim import (
    MAX_ALTERNATIVES,
    MAX_DEVICES,
    MAX_REQUESTS,
    MAX_TOLERATIONS,
    ConstraintAttribute,
)
from fleet.devices.names import DnsLabel, DnsSubdomain, LabelKey, LabelValue, QualifiedName
from fleet.devices.problem import choose, refuse
from fleet.devices.quantity_text import QuantityText
from fleet.devices.selector import MAX_SELECTORS, Expression
from fleet.settings.base import Settings
from fleet.settings.classes import OpaqueSettings


class DeviceTolerationSettings(Settings):
    """A device taint that a request accepts."""

    key: LabelKey | None = None
    operator: Literal["Exists", "Equal"] = "Equal"
    value: LabelValue = ""
    effect: Literal["NoSchedule", "NoExecute"] | None = None
    toleration_seconds: int | None = None


class CommonRequestSettings(Settings):
    """Devices of one class."""

    class_: Annotated[
        DnsSubdomain, Field(description="A class of this stack, or one that a driver's chart installs")
    ]
    count: Annotated[int, Field(ge=1, le=MAX_DEVICES)] | None = None
    allocation_mode: Literal["ExactCount", "All"] = "ExactCount"
    selectors: Annotated[tuple[Expression, ...], Field(max_length=MAX_SELECTORS)] = ()
    tolerations: Annotated[tuple[DeviceTolerationSettings, ...], Field(max_length=MAX_TOLERATIONS)] = ()
    capacity: Annotated[
        Mapping[QualifiedName, QuantityText],
        Field(description="Amounts to consume of a shared device, key as published"),
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _count_fits_mode(self) -> Self:
        if self.allocation_mode == "All" and self.count is not None:
            raise refuse("must not have a count with allocationMode All", fix="leave count out")
        return self


class ExactRequest(CommonRequestSettings):
    """A request for one class."""

    admin_access: bool = False


class AlternativeRequest(CommonRequestSettings):
    """One alternative of a prioritised list."""

    name: DnsLabel


class FirstAvailableRequest(Settings):
    """Alternatives, most wanted first."""

    first_available: Annotated[
        tuple[AlternativeRequest, ...], Field(min_length=1, max_length=MAX_ALTERNATIVES)
    ]

    @model_validator(mode="after")
    def _names_unique(self) -> Self:
        names = [item.name for item in self.first_available]
        if len(set(names)) < len(names):
            raise refuse("must have alternatives with unique names")
        return self


def _kind(value: object) -> str | None:
    if isinstance(value, FirstAvailableRequest):
        return "<first>"
    if isinstance(value, ExactRequest):
        return "<exact>"
    if not isinstance(value, Mapping):
        return None
    return "<first>" if "firstAvailable" in cast("Mapping[str, Any]", value) else "<exact>"


RequestSettings = Annotated[
    Annotated[ExactRequest, Tag("<exact>")] | Annotated[FirstAvailableRequest, Tag("<first>")],
    choose(
        _kind, "must be a mapping", allowed="{class, count, …} or {firstAvailable: [{name, class, …}, …]}"
    ),
]


class ConstraintSettings(Settings):
    """What the devices of some requests, or of all, must share or must not."""

    requests: tuple[str, ...] = ()
    match_attribute: ConstraintAttribute | None = None
    distinct_attribute: ConstraintAttribute | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.match_attribute is None) == (self.distinct_attribute is None):
            raise refuse("must have exactly one of matchAttribute and distinctAttribute")
        return self


class ClaimConfigSettings(Settings):
    """Configuration for the devices of some requests, or of all."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueSettings


class ClaimSettings(Settings):
    """A ResourceClaimTemplate, or with `shared` one ResourceClaim that all its pods hold together."""

    requests: Annotated[Mapping[DnsLabel, RequestSettings], Field(min_length=1, max_length=MAX_REQUESTS)]
    constraints: tuple[ConstraintSettings, ...] = ()
    config: tuple[ClaimConfigSettings, ...] = ()
    external: Annotated[
        bool, Field(description="Consumed outside this stack: the template keeps its exact name")
    ] = False
    shared: Annotated[bool, Field(description="One ResourceClaim for all pods instead of one for each")] = (
        False
    )

    @model_validator(mode="after")
    def _external_or_shared(self) -> Self:
        if self.external and self.shared:
            raise refuse(
                "must not be both external and shared", fix="a shared claim keeps its exact name anyway"
            )
        return self

    def classes(self) -> tuple[tuple[tuple[str | int, ...], str], ...]:
        """Every class the claim names, with its path below the claim."""
        found: list[tuple[tuple[str | int, ...], str]] = []
        for name, request in sorted(self.requests.items()):
            if isinstance(request, ExactRequest):
                found.append((("requests", name, "class"), request.class_))
            else:
                for index, item in enumerate(request.first_available):
                    found.append((("requests", name, "firstAvailable", index, "class"), item.class_))
        return tuple(found)
