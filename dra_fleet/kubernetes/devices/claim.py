"""The spec of a ResourceClaim, which a ResourceClaimTemplate repeats, with the API server's own rules.

Source: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-claim-v1/ and
kubernetes/kubernetes pkg/apis/resource/validation/validation.go, v1.36.
"""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from dra_fleet.kubernetes.devices.base import DeviceModel, QuantityText, as_server, refuse, since_1_38
from dra_fleet.kubernetes.devices.device_class import OpaqueConfig, Selectors
from dra_fleet.kubernetes.devices.names import (
    DnsLabel,
    DnsSubdomain,
    FullyQualifiedName,
    LabelValue,
    dns_label,
    label_key,
    qualified_name,
    slashes,
)

MAX_REQUESTS = 32
MAX_ALTERNATIVES = 8
MAX_CONSTRAINTS = 32
MAX_CONFIG = 32
MAX_TOLERATIONS = 16
MAX_DEVICES = 32
INT64 = 2**63

Count = Annotated[int, Field(ge=-INT64, lt=INT64)]


def _request_reference(text: str) -> str:
    segments = text.split("/")
    if len(segments) > 2:  # noqa: PLR2004 - request and alternative
        raise refuse("must be a request or 'request/alternative'")
    for segment in segments:
        if (problem := dns_label(segment)) is not None:
            raise refuse(problem)
    return text


RequestReference = Annotated[str, AfterValidator(_request_reference)]


def _one_slash(text: str, info: ValidationInfo) -> str:
    if not as_server(info) and (problem := slashes(text)) is not None:
        raise refuse(problem)
    return text


ConstraintAttribute = Annotated[FullyQualifiedName, AfterValidator(_one_slash)]


def _unique(names: Iterable[str], at: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise refuse(f"must be unique, {name!r} appears twice", at=at)
        seen.add(name)


def _known_references(references: tuple[str, ...], known: tuple[str, ...], at: str) -> None:
    for reference in references:
        if reference not in known:
            raise refuse(
                f"refers to {reference!r}, which is not a request of this claim",
                allowed=", ".join(known),
                at=at,
            )


def _optional_label_key(text: str) -> str:
    if text and (problem := label_key(text)) is not None:
        raise refuse(problem)
    return text


class DeviceToleration(DeviceModel):
    """A device taint that a request accepts."""

    key: Annotated[str, AfterValidator(_optional_label_key)] = ""
    operator: Literal["Exists", "Equal"] = "Equal"
    value: LabelValue = ""
    effect: Literal["", "None", "NoSchedule", "NoExecute"] = ""
    toleration_seconds: Count | None = None

    @model_validator(mode="after")
    def _fields_agree(self, info: ValidationInfo) -> Self:
        if self.operator == "Exists" and self.value:
            raise refuse("must have no value with operator Exists", at="value")
        if not as_server(info) and not self.key and self.operator == "Equal":
            raise refuse("must have operator Exists when the key is empty", at="operator")
        return self


class CapacityRequirements(DeviceModel):
    """The part of a shared device's capacity that a request consumes."""

    requests: dict[str, QuantityText] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _keys(self, info: ValidationInfo) -> Self:
        if since_1_38(info):
            for key in self.requests:
                if (problem := qualified_name(key) or slashes(key)) is not None:
                    raise refuse(problem, at=("requests", key))
        return self


class DerivedAttribute(DeviceModel):
    """An attribute for constraints that an expression gives each device."""

    name: FullyQualifiedName
    expression: str


class DeviceRequirements(DeviceModel):
    """Fields of `exactly` and of each alternative in `firstAvailable`."""

    device_class_name: DnsSubdomain
    selectors: Selectors = ()
    allocation_mode: Literal["ExactCount", "All", ""] = "ExactCount"
    count: Annotated[int, Field(ge=-INT64, lt=INT64, validate_default=True)] = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: Annotated[tuple[DerivedAttribute, ...], Field(max_length=MAX_DEVICES)] = ()

    def omitted(self) -> frozenset[str]:
        """Omit an empty count."""
        return frozenset({"count"}) if self.allocation_mode == "All" else frozenset()

    @field_validator("allocation_mode")
    @classmethod
    def _default_mode(cls, value: str) -> str:
        return value or "ExactCount"

    @field_validator("count")
    @classmethod
    def _default_count(cls, value: int, info: ValidationInfo) -> int:
        # The API server fills in both, so that what is written equals what is stored.
        return 1 if value == 0 and info.data.get("allocation_mode") == "ExactCount" else value

    @model_validator(mode="after")
    def _count_fits_mode(self, info: ValidationInfo) -> Self:
        if self.allocation_mode == "All" and self.count != 0:
            raise refuse("must not be set with allocationMode All", at="count", fix="leave it out")
        if self.allocation_mode == "ExactCount" and self.count <= 0:
            raise refuse("must be greater than zero", at="count")
        if as_server(info):
            return self
        if self.count > MAX_DEVICES:
            raise refuse(f"must be at most {MAX_DEVICES}, the most devices one claim can hold", at="count")
        if len(self.tolerations) > MAX_TOLERATIONS:
            raise refuse(f"must be at most {MAX_TOLERATIONS} tolerations", at="tolerations")
        return self


class ExactDeviceRequest(DeviceRequirements):
    """Devices of one class."""

    admin_access: bool | None = None


class DeviceSubRequest(DeviceRequirements):
    """An alternative of a prioritised list."""

    name: DnsLabel


class DeviceRequest(DeviceModel):
    """A named request: exactly one class, or the first of several alternatives that is available."""

    name: DnsLabel
    exactly: ExactDeviceRequest | None = None
    first_available: Annotated[tuple[DeviceSubRequest, ...], Field(max_length=MAX_ALTERNATIVES)] = ()

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.exactly is not None) == bool(self.first_available):
            raise refuse("must have exactly one of exactly and firstAvailable")
        _unique((alternative.name for alternative in self.first_available), "firstAvailable")
        return self


class DeviceConstraint(DeviceModel):
    """A value that the devices of a claim must share, or must not."""

    requests: Annotated[tuple[RequestReference, ...], Field(max_length=MAX_REQUESTS)] = ()
    match_attribute: ConstraintAttribute | None = None
    distinct_attribute: ConstraintAttribute | None = None

    @model_validator(mode="after")
    def _exactly_one(self, info: ValidationInfo) -> Self:
        if self.match_attribute is None and self.distinct_attribute is None:
            raise refuse("must have matchAttribute or distinctAttribute")
        both = self.match_attribute is not None and self.distinct_attribute is not None
        if both and not as_server(info):
            raise refuse(
                "must not have both matchAttribute and distinctAttribute",
                fix="write two constraints; the API server accepts both and silently ignores the second",
            )
        _unique(self.requests, "requests")
        return self


class DeviceClaimConfig(DeviceModel):
    """Configuration for the devices of some requests, or of all."""

    requests: Annotated[tuple[RequestReference, ...], Field(max_length=MAX_REQUESTS)] = ()
    opaque: OpaqueConfig

    @model_validator(mode="after")
    def _requests_unique(self) -> Self:
        _unique(self.requests, "requests")
        return self


class DeviceClaim(DeviceModel):
    """The devices of a claim. An empty list of requests is legal: nothing to allocate."""

    requests: Annotated[tuple[DeviceRequest, ...], Field(max_length=MAX_REQUESTS)] = ()
    constraints: Annotated[tuple[DeviceConstraint, ...], Field(max_length=MAX_CONSTRAINTS)] = ()
    config: Annotated[tuple[DeviceClaimConfig, ...], Field(max_length=MAX_CONFIG)] = ()

    @model_validator(mode="after")
    def _names_agree(self, info: ValidationInfo) -> Self:
        _unique((request.name for request in self.requests), "requests")
        known = self.references()
        for field, items in (("constraints", self.constraints), ("config", self.config)):
            for index, item in enumerate(items):
                _known_references(item.requests, known, f"{field}.{index}.requests")
        self._check_derived_attributes()
        if not as_server(info) and sum(_least_devices(request) for request in self.requests) > MAX_DEVICES:
            raise refuse(f"must ask for at most {MAX_DEVICES} devices in one claim", at="requests")
        return self

    def _check_derived_attributes(self) -> None:
        used = {
            (reference, constraint.match_attribute or constraint.distinct_attribute)
            for constraint in self.constraints
            for reference in constraint.requests or ("",)
        }
        for index, request in enumerate(self.requests):
            options: list[tuple[str, DeviceRequirements | None]] = [(request.name, request.exactly)]
            options += [(f"{request.name}/{item.name}", item) for item in request.first_available]
            for name, option in ((name, option) for name, option in options if option is not None):
                at = f"requests.{index}.derivedAttributes"
                _unique((attribute.name for attribute in option.derived_attributes), at)
                for attribute in option.derived_attributes:
                    if used.isdisjoint((target, attribute.name) for target in ("", request.name, name)):
                        raise refuse("must be used by a constraint on the request", at=f"{at}.name")

    def references(self) -> tuple[str, ...]:
        """Every name a constraint or a config may refer to."""
        return tuple(
            reference
            for request in self.requests
            for reference in (
                request.name,
                *(f"{request.name}/{item.name}" for item in request.first_available),
            )
        )


class ClaimSpec(DeviceModel):
    """The spec of a ResourceClaim, and `spec.spec` of a ResourceClaimTemplate."""

    devices: DeviceClaim = DeviceClaim()

    def classes(self) -> tuple[str, ...]:
        """Return the DeviceClasses that it names, in order, without duplicates."""
        return tuple(
            dict.fromkeys(
                asked.device_class_name
                for request in self.devices.requests
                for asked in ((request.exactly,) if request.exactly is not None else request.first_available)
            )
        )


def _least_devices(request: DeviceRequest) -> int:
    options = (request.exactly,) if request.exactly is not None else request.first_available
    return min((max(option.count, 1) for option in options), default=0)
