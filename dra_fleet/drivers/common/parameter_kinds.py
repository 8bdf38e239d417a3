"""The opaque parameters that a driver decodes: their kinds and fields, as its facts tell them."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from dra_fleet.core.facts.entry import Entry, Fact

ParameterType = Literal[
    "string",
    "integer",
    "boolean",
    "quantity",
    "deviceLimits",
    "booleans",
    "network",
    "address",
    "hardwareAddress",
    "interface",
    "cpuSet",
]
"""The type of a field of opaque parameters; `deviceLimits` maps a device's index or UUID to a quantity."""


class ParameterField(Fact):
    """A field of a driver's opaque parameters, by its dotted path; `routes[].gateway` is one of each item.

    `gates`: per allowed value the driver's feature gate that it needs. `least` and `most`: bounds of a number
    or quantity. `goes_with`: `field=value` that must be there beside it; `not_with`: a field that must not.
    `unless`: `field=value` of its section with which it is not required. `since`: the first chart version.
    """

    name: str
    type: ParameterType
    required: bool = False
    unless: str | None = None
    allowed: tuple[str, ...] = ()
    gates: Mapping[str, str] = Field(default_factory=dict)
    least: str | None = None
    most: str | None = None
    goes_with: str | None = None
    not_with: str | None = None
    since: str | None = None


class ParameterKind(Entry):
    """A kind of opaque parameters, which a driver decodes only when it prepares a device.

    `head`: which of `apiVersion` and `kind` its driver reads; without them, it has one kind. `is_strict`:
    whether it refuses fields that it does not know; else it ignores them.
    `device_types`: the devices that it can be asked for by name of their request. `since`: the first chart
    version whose driver decodes it.
    """

    api_version: str = ""
    kind: str
    driver: str
    head: tuple[Literal["apiVersion", "kind"], ...] = ("apiVersion", "kind")
    is_strict: bool = True
    device_types: tuple[str, ...] = ()
    since: str | None = None
    fields: tuple[ParameterField, ...]
