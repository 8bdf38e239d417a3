"""Claims of pods: requests by class, constraints between devices, configuration for the driver.

Names are those of Kubernetes; requests are a mapping by name because their order has no meaning.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, Tag, model_validator

from dra_fleet.kubernetes.devices.base import QuantityText, choose, refuse
from dra_fleet.kubernetes.devices.claim import (
    MAX_ALTERNATIVES,
    MAX_DEVICES,
    MAX_REQUESTS,
    MAX_TOLERATIONS,
    ConstraintAttribute,
)
from dra_fleet.kubernetes.devices.device_class import MAX_SELECTORS, Expression
from dra_fleet.kubernetes.devices.names import DnsLabel, DnsSubdomain, LabelKey, LabelValue, QualifiedName
from dra_fleet.model.classes import OpaqueSettings
from dra_fleet.model.settings import SettingsModel


class DeviceTolerationSettings(SettingsModel):
    """A toleration of a device taint."""

    key: Annotated[LabelKey | None, Field(description="Key of the taint. Default: any")] = None
    operator: Annotated[Literal["Exists", "Equal"], Field(description="Exists matches every value")] = "Equal"
    value: Annotated[LabelValue, Field(description="Value of the taint")] = ""
    effect: Annotated[
        Literal["NoSchedule", "NoExecute"] | None, Field(description="Effect of the taint. Default: any")
    ] = None
    toleration_seconds: Annotated[
        int | None, Field(description="Seconds for which a NoExecute taint is tolerated")
    ] = None


class CommonRequestSettings(SettingsModel):
    """A request for devices of one class."""

    class_: Annotated[DnsSubdomain, Field(description="DeviceClass of this stack or of a driver's chart")]
    count: Annotated[int, Field(description="Number of devices. Default: 1", ge=1, le=MAX_DEVICES)] | None = (
        None
    )
    allocation_mode: Annotated[
        Literal["ExactCount", "All"], Field(description="All: all matching devices of one node")
    ] = "ExactCount"
    selectors: Annotated[
        tuple[Expression, ...],
        Field(description="CEL expressions in addition to those of the class", max_length=MAX_SELECTORS),
    ] = ()
    tolerations: Annotated[
        tuple[DeviceTolerationSettings, ...],
        Field(description="Tolerated device taints", max_length=MAX_TOLERATIONS),
    ] = ()
    capacity: Annotated[
        Mapping[QualifiedName, QuantityText],
        Field(description="Amounts of a shared device, by the capacity keys that the driver publishes"),
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _count_fits_mode(self) -> Self:
        if self.allocation_mode == "All" and self.count is not None:
            raise refuse("must not have a count with allocationMode All", fix="leave count out")
        return self


class ExactRequest(CommonRequestSettings):
    """A request for one class."""

    admin_access: Annotated[
        bool, Field(description="Also get devices that other claims use; for monitoring")
    ] = False


class AlternativeRequest(CommonRequestSettings):
    """An alternative of a prioritized list."""

    name: Annotated[DnsLabel, Field(description="Name of the alternative")]


class FirstAvailableRequest(SettingsModel):
    """Alternatives, in order of preference."""

    first_available: Annotated[
        tuple[AlternativeRequest, ...],
        Field(description="Alternatives, in order of preference", min_length=1, max_length=MAX_ALTERNATIVES),
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
    """A condition on the devices of some or all requests together."""

    requests: Annotated[tuple[str, ...], Field(description="Names of requests. Default: all")] = ()
    match_attribute: Annotated[
        ConstraintAttribute | None,
        Field(
            description=(
                "Attribute with the same value on all devices, such as resource.kubernetes.io/pcieRoot"
            )
        ),
    ] = None
    distinct_attribute: Annotated[
        ConstraintAttribute | None, Field(description="Attribute with a different value on each device")
    ] = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.match_attribute is None) == (self.distinct_attribute is None):
            raise refuse("must have exactly one of matchAttribute and distinctAttribute")
        return self


class ClaimConfigSettings(SettingsModel):
    """Driver configuration for the devices of some or all requests."""

    requests: Annotated[tuple[str, ...], Field(description="Names of requests. Default: all")] = ()
    opaque: OpaqueSettings


class ClaimSettings(SettingsModel):
    """A ResourceClaimTemplate, or with `shared` one ResourceClaim for all pods."""

    requests: Annotated[
        Mapping[DnsLabel, RequestSettings],
        Field(description="Requests by name", min_length=1, max_length=MAX_REQUESTS),
    ]
    constraints: tuple[ConstraintSettings, ...] = ()
    config: tuple[ClaimConfigSettings, ...] = ()
    external: Annotated[
        bool, Field(description="Pods outside this stack use the template, so that its name never changes")
    ] = False
    shared: Annotated[bool, Field(description="One ResourceClaim for all pods instead of one per pod")] = (
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
