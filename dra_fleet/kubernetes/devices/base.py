"""Base of the typed resource.k8s.io models, and the problems that they raise inside pydantic."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, cast

from msgspec import Struct
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    WithJsonSchema,
    model_serializer,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from dra_fleet.kubernetes.devices.quantity import ALLOWED, Quantity
from dra_fleet.kubernetes.minors import minor_order

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_KEYS_CHECKED = 38
"""The first minor whose API server checks keys of requested capacities; see `since_1_38`."""


_UNIT = re.compile(r"([0-9.]+)\s*([kmgtpe])(i?)b?", re.IGNORECASE)
"""A quantity as people write it, such as 20GB, 20 gi or 20GiB."""


def _canonical(value: object, info: ValidationInfo) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = repr(value)
    if not isinstance(value, str):
        return value
    fix = "for example 20Gi, 9728Mi or 500m"
    if unit := _UNIT.fullmatch(value.strip()):
        number, letter = unit[1], unit[2].upper()
        fix = f"write {number}{letter}i" + ("" if unit[3] else f" or {number}{letter.replace('K', 'k')}")
    try:
        canonical = str(Quantity.parse(value))
    except ValueError:
        raise refuse("is not a Kubernetes quantity", allowed=ALLOWED, fix=fix, decoding=True) from None
    if not as_server(info) and not any(character.isdigit() for character in value):
        raise refuse("is a quantity without a number, which the API server reads as 0", fix=fix)
    return canonical


QuantityText = Annotated[
    str, BeforeValidator(_canonical), WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}]})
]
"""A quantity kept as its canonical text."""


def camel(name: str) -> str:
    """Return the YAML and JSON name of a field: camelCase, and `class_` is `class`."""
    return to_camel(name.rstrip("_"))


class DeviceModel(BaseModel):
    """A part of a resource.k8s.io/v1 object."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=camel,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,
    )
    kept_when_empty: ClassVar[frozenset[str]] = frozenset()
    """JSON names that are written even when empty."""

    @classmethod
    def from_object(cls, value: Mapping[str, Any], *, as_server: bool = False, minor: str = "") -> Self:
        """Read the JSON object strictly.

        Args:
            value: The object as JSON.
            as_server: Skip the rules that are stricter than the API server's.
            minor: Kubernetes version of the API server; empty for rules that all versions have.

        Raises:
            pydantic.ValidationError: The object breaks a rule; the error lists all of them.
        """
        # Validated as JSON because strict mode means something else for Python's lists and tuples.
        context = {"as_server": as_server, "since_1_38": bool(minor) and minor_order(minor) >= _KEYS_CHECKED}
        text = json.dumps(without_nulls(value))
        return cls.model_validate_json(text, by_alias=True, by_name=False, context=context)

    def to_object(self) -> dict[str, Any]:
        """Return the exact JSON object, without the fields that the API server would omit."""
        return self.model_dump(mode="json", by_alias=True)

    @cached_property
    def as_read(self) -> Mapping[str, Any]:
        """The same, made once for all who only read it."""
        return self.to_object()

    def omitted(self) -> frozenset[str]:
        """JSON names that this object does not write although they have a value."""
        return frozenset()

    @model_serializer(mode="wrap")
    def _omit_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        everything = cast("dict[str, Any]", handler(self))
        omitted = self.omitted()
        return {
            key: value
            for key, value in everything.items()
            if key not in omitted
            and value is not None
            and (key in self.kept_when_empty or value not in ("", [], (), {}))
        }


def without_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy without null values, as the API server reads it; opaque parameters are unchanged."""
    return {
        key: item if key == "parameters" else _without_nulls(item)
        for key, item in value.items()
        if item is not None
    }


def copied(value: object) -> Any:  # noqa: ANN401 - what it was
    """Return a deep copy of a JSON value, in 20 % of the time of `copy.deepcopy`."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in cast("dict[str, object]", value).items()}
    return [copied(item) for item in cast("list[object]", value)] if isinstance(value, list) else value


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return without_nulls(cast("dict[str, Any]", value))
    if isinstance(value, list):
        return [_without_nulls(item) for item in cast("list[object]", value)]
    return value


class Problem(Struct, frozen=True, kw_only=True):
    """A reason to reject an object.

    `server`: True if the API server of that minor also rejects the object; False if it would silently drop a
    field, or accept an object that can never work.
    """

    path: str
    what: str
    fix: str = ""
    server: bool = True

    def __str__(self) -> str:
        return f"{self.path}: {self.what}" + (f" ({self.fix})" if self.fix else "")


def refuse(
    what: str,
    *,
    allowed: str = "",
    fix: str = "",
    at: str | tuple[str | int, ...] = "",
    decoding: bool = False,
) -> PydanticCustomError:
    """Return an error for a pydantic validator to raise.

    Args:
        what: The problem, as the end of a sentence about the value.
        allowed: The accepted values.
        fix: The fix.
        at: Path below the validated value, for rules that join several fields: dotted, or its parts where
            one is the key of a map.
        decoding: True if the API server cannot even read the value, so that it rejects it in fields it would
            drop.
    """
    # Braces would be read as a template by pydantic; the text travels as a value instead.
    return PydanticCustomError(
        "refused", "{what}", {"what": what, "allowed": allowed, "fix": fix, "at": at, "decoding": decoding}
    )


def as_server(info: ValidationInfo) -> bool:
    """Return True if only the API server's own rules apply: see `DeviceModel.from_object`."""
    context = cast("Mapping[str, object] | None", info.context)
    return context is not None and context.get("as_server") is True


def since_1_38(info: ValidationInfo) -> bool:
    """Return whether rules apply that the API server checks from 1.38: see `DeviceModel.from_object`."""
    context = cast("Mapping[str, object] | None", info.context)
    return context is None or not context.get("as_server") or context.get("since_1_38") is True


def choose(discriminate: Callable[[Any], str | None], what: str, *, allowed: str) -> Discriminator:
    """Return a discriminator between models; if it returns None, the value is rejected with the message."""
    context: dict[str, int | str | float] = {"what": what, "allowed": allowed, "fix": "", "at": ""}
    return Discriminator(
        discriminate, custom_error_type="refused", custom_error_message="{what}", custom_error_context=context
    )
