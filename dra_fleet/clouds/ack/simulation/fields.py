"""Holds inputs to the published provider's: names, types, and the values that its pages list."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Literal, cast

from pydantic import BaseModel, ConfigDict

from dra_fleet.core.facts import read
from dra_fleet.rehearsal.clouds.cloud import WrongInput, is_unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.rehearsal.clouds.cloud import Properties

_WORDS: Final = {
    "text": "a text", "flag": "true or false", "number": "a number", "texts": "a list of texts",
    "map": "an object", "object": "an object", "list": "a list of objects",
}  # fmt: skip


class Field(BaseModel):
    """An input: what it is, where ACK's API takes it, and the values there are, if they are few."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["text", "flag", "number", "texts", "map", "object", "list"]
    api: str | None = None
    values: tuple[str, ...] = ()


class Fields(BaseModel):
    """The inputs of a type by dotted path, and the model of the API's request that takes them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    request: str
    replacing: frozenset[str]
    fields: dict[str, Field]

    def below(self, path: str) -> Mapping[str, Field]:
        """The inputs directly below one."""
        start = f"{path}." if path else ""
        return {
            place.removeprefix(start): field
            for place, field in self.fields.items()
            if place.startswith(start) and "." not in place.removeprefix(start)
        }


class Types(BaseModel):
    """All types that are held to this, and where they are published."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    date: str
    types: dict[str, Fields]


@cache
def fields_of(kind: str) -> Fields:
    """The inputs of a type."""
    return all_types().types[kind]


@cache
def all_types() -> Types:
    """Those of all types."""
    return Types.model_validate(read("dra_fleet.clouds.ack.simulation", "fields.yaml"))


def faults(kind: str, inputs: Properties) -> list[WrongInput]:
    """What in the inputs does not fit a type."""
    rest = {key: value for key, value in inputs.items() if key != "__defaults"}
    return list(_object(fields_of(kind), rest, "", ""))


def _object(fields: Fields, value: Properties, path: str, place: str) -> Iterator[WrongInput]:
    known = fields.below(path)
    for key, item in value.items():
        here = f"{place}.{key}" if place else key
        field = known.get(key)
        if field is None:
            allowed = ", ".join(sorted(known))
            yield WrongInput(path=here, reason=f"{key!r} is no input here; there are: {allowed}")
        elif item is not None and not is_unknown(item):
            yield from _value(fields, field, item, f"{path}.{key}" if path else key, here)


def _value(fields: Fields, field: Field, value: object, path: str, place: str) -> Iterator[WrongInput]:
    if field.kind == "list" and isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            if isinstance(item, dict):
                yield from _object(fields, cast("Properties", item), path, f"{place}[{index}]")
    elif field.kind == "object" and isinstance(value, dict):
        yield from _object(fields, cast("Properties", value), path, place)
    elif not _is_a(field.kind, value):
        yield WrongInput(path=place, reason=f"{value!r} must be {_WORDS[field.kind]}")
    elif field.values and value not in field.values:
        yield WrongInput(
            path=place, reason=f"expected {place} to be one of {list(field.values)}, got {value}"
        )


def _is_a(kind: str, value: object) -> bool:
    match kind:
        case "flag":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "texts":
            return isinstance(value, list) and all(
                isinstance(item, str) for item in cast("list[object]", value) if not is_unknown(item)
            )
        case "map":
            return isinstance(value, dict)
        case _:
            return kind == "text" and isinstance(value, str)
