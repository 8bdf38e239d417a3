"""What pods ask for: requests by class, constraints between devices, configuration for the driver.

The words are Kubernetes' own; requests are a mapping by name because their order means nothing.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, Tag, model_validator

from dra_fleet.kubernetes.devices.base import QuantityText
from dra_fleet.kubernetes.devices.claim import (
    MAX_ALTERNATIVES,
    MAX_DEVICES,
    MAX_REQUESTS,
    MAX_TOLERATIONS,
    ConstraintAttribute,
)
from dra_fleet.kubernetes.devices.device_class import MAX_SELECTORS, Expression
from dra_fleet.kubernetes.devices.names import DnsLabel, DnsSubdomain, LabelKey, LabelValue, QualifiedName
from dra_fleet.kubernetes.devices.problem import choose, refuse
from dra_fleet.model.classes import OpaqueSettings
from dra_fleet.model.settings import SettingsModel


class DeviceTolerationSettings(SettingsModel):
    """A device taint that a request accepts."""

    key: Annotated[LabelKey | None, Field(description="Key of the taint; without it, any")] = None
    operator: Annotated[Literal["Exists", "Equal"], Field(description="Exists: whatever the value")] = "Equal"
    value: Annotated[LabelValue, Field(description="Value of the taint")] = ""
    effect: Annotated[
        Literal["NoSchedule", "NoExecute"] | None, Field(description="Effect of the taint; without it, any")
    ] = None
    toleration_seconds: Annotated[
        int | None, Field(description="How long a NoExecute taint is tolerated")
    ] = None


class CommonRequestSettings(SettingsModel):
    """Devices of one class."""

    class_: Annotated[
        DnsSubdomain, Field(description="A class of this stack, or one that a driver's chart installs")
    ]
    count: Annotated[int, Field(description="Devices; 1 without it", ge=1, le=MAX_DEVICES)] | None = None
    allocation_mode: Annotated[
        Literal["ExactCount", "All"], Field(description="All: every matching device of one node")
    ] = "ExactCount"
    selectors: Annotated[
        tuple[Expression, ...],
        Field(description="CEL expressions that narrow the class", max_length=MAX_SELECTORS),
    ] = ()
    tolerations: Annotated[
        tuple[DeviceTolerationSettings, ...],
        Field(description="Taints of devices that are accepted", max_length=MAX_TOLERATIONS),
    ] = ()
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

    admin_access: Annotated[bool, Field(description="Look at devices that others hold; for monitoring")] = (
        False
    )


class AlternativeRequest(CommonRequestSettings):
    """One alternative of a prioritised list."""

    name: Annotated[DnsLabel, Field(description="Name of the alternative")]


class FirstAvailableRequest(SettingsModel):
    """Alternatives, most wanted first."""

    first_available: Annotated[
        tuple[AlternativeRequest, ...],
        Field(description="Alternatives, most wanted first", min_length=1, max_length=MAX_ALTERNATIVES),
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


class ConstraintSettings(SettingsModel):
    """What the devices of some requests, or of all, must share or must not."""

    requests: Annotated[tuple[str, ...], Field(description="Names of requests; without it, all")] = ()
    match_attribute: Annotated[
        ConstraintAttribute | None,
        Field(description="Attribute that all devices share, such as resource.kubernetes.io/pcieRoot"),
    ] = None
    distinct_attribute: Annotated[
        ConstraintAttribute | None, Field(description="Attribute that differs between all devices")
    ] = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.match_attribute is None) == (self.distinct_attribute is None):
            raise refuse("must have exactly one of matchAttribute and distinctAttribute")
        return self


class ClaimConfigSettings(SettingsModel):
    """Configuration for the devices of some requests, or of all."""

    requests: Annotated[tuple[str, ...], Field(description="Names of requests; without it, all")] = ()
    opaque: OpaqueSettings


class ClaimSettings(SettingsModel):
    """A ResourceClaimTemplate, or with `shared` one ResourceClaim that all its pods hold together."""

    requests: Annotated[
        Mapping[DnsLabel, RequestSettings],
        Field(description="What is asked for, by name", min_length=1, max_length=MAX_REQUESTS),
    ]
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
