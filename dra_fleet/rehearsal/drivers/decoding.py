"""Opaque parameters, decoded strictly as drivers in Go do with Kubernetes' own library.

Source: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/runtime/serializer/json/json.go and
https://github.com/kubernetes-sigs/json (its errors of types).
"""

from __future__ import annotations

import json
import re
from enum import Enum
from typing import TYPE_CHECKING, cast

from msgspec import Struct, field
from msgspec.structs import replace

from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.clusters.client import Object


class Go(Struct, frozen=True):
    """A type of Go.

    Attributes:
        name: As its errors write it.
        takes: What JSON it is read from.
        fields: Those of a structure, by name; `*` stands for any key of a map, and for any item of a list.
        whole: Which numbers one of whole numbers holds.
    """

    name: str
    takes: type = dict
    fields: Mapping[str, Go] = field(default_factory=dict[str, "Go"])
    whole: range = range(-(2**63), 2**63)

    def reads(self, value: object) -> bool:
        """Return whether the type accepts a JSON value."""
        if self.takes is not int:
            return isinstance(value, self.takes)
        return isinstance(value, int) and not isinstance(value, bool) and value in self.whole

    def without(self, paths: Sequence[Sequence[str]]) -> Go:
        """Return the type without fields below it; a structure without any field left is removed."""
        kept: dict[str, Go] = {}
        for name, below in self.fields.items():
            gone = [path[1:] for path in paths if path[0] == name]
            left = below.without([path for path in gone if path])
            if [] not in gone and (left.fields or not below.fields):
                kept[name] = left
        return replace(self, fields=kept)


STRING = Go("string", str)
INT = Go("int", int)
INT64 = Go("int64", int)
UINT64 = Go("uint64", int, whole=range(2**64))
BOOL = Go("bool", bool)
QUANTITY = Go("resource.Quantity", Quantity)
ANYTHING = Go("any", object)
_HEAD: Mapping[str, Go] = {"apiVersion": STRING, "kind": STRING}
_MISSING: Mapping[str, str] = {"kind": "Kind", "apiVersion": "apiVersion"}
_QUANTITY_PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_NO_QUANTITY = "quantities must match the regular expression"
_SHAPE = re.compile(r"[+-]?[0-9]*[.]?[0-9]*[eEinumkKMGTP]+[-+]?[0-9]*", re.ASCII)


class _Wrong(Enum):
    """Kind of error in a field; the lower is reported before the higher."""

    QUANTITY = 0
    TYPE = 1
    FIELD = 2


def decode(parameters: Object, api_version: str, kinds: Mapping[str, Mapping[str, Go]]) -> str:
    """Decode parameters strictly; returns their kind.

    Args:
        parameters: as in the claim.
        api_version: the only one that is decoded.
        kinds: the fields of each kind.

    Raises:
        PrepareFailed: with the driver's words.
    """
    version, kind = parameters.get("apiVersion") or "", parameters.get("kind") or ""
    problem = _unnamed(parameters)
    if not problem and (version != api_version or kind not in kinds):
        problem = (
            f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
        )
    problem = problem or _unread(parameters, Go(kind, dict, {**_HEAD, **kinds.get(kind, {})}))
    if problem:
        raise PrepareFailed(f"error decoding config parameters: {problem}")
    return kind


def _unnamed(parameters: Object) -> str:
    """Return why the kind of parameters is unknown; empty if it is known."""
    for name in _HEAD:
        value = parameters.get(name)
        if value is not None and not isinstance(value, str):
            wrong = (
                f"cannot unmarshal {_json_type(value, STRING)} into Go struct field .{name} of type string"
            )
            return f"couldn't get version/kind; json parse error: json: {wrong}"
    if (version := parameters.get("apiVersion") or "").count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    missing = next((reported for name, reported in _MISSING.items() if not parameters.get(name)), None)
    body = json.dumps(parameters, separators=(",", ":"), ensure_ascii=False)
    return f"Object '{missing}' is missing in '{body}'" if missing else ""


def section(value: Object, key: str) -> Object:
    """Return a mapping below a key; empty if it is missing or null."""
    return cast("Object", value.get(key) or {})


def _unread(parameters: Object, structure: Go) -> str:
    """Return the driver's message about fields that it cannot read; empty if it reads them all.

    A wrong quantity ends the decoding, a wrong type is reported at its end, and unknown fields all together
    where nothing else is wrong.
    """
    found = list(_problems(parameters, _Place(structure)))
    unknown = [text for wrong, text in found if wrong is _Wrong.FIELD]
    worst = min(found, key=lambda one: one[0].value, default=(_Wrong.FIELD, ""))
    return f"strict decoding error: {', '.join(unknown)}" if len(unknown) == len(found) > 0 else worst[1]


class _Place(Struct, frozen=True):
    """Target of a value, as errors name it.

    Attributes:
        type: What it is read into.
        owner: The structure it belongs to; a map's key or a list's item is reported as the map or list.
        fields: The way to it by names of fields, which wrong types are reported with.
        path: The way to it with keys and indexes, which unknown fields are reported with.
    """

    type: Go
    owner: str = ""
    fields: tuple[str, ...] = ()
    path: str = ""

    def field(self, name: str) -> _Place | None:
        path = f"{self.path}.{name}" if self.path else name
        if "*" in self.type.fields:
            return replace(self, type=self.type.fields["*"], path=path)
        below = self.type.fields.get(name)
        if below is None:
            return None
        return _Place(below, self.type.name.rpartition(".")[2], (*self.fields, name), path)

    def item(self, index: int) -> _Place:
        return replace(self, type=self.type.fields["*"], path=f"{self.path}[{index}]")


def _problems(value: object, at: _Place) -> Iterator[tuple[_Wrong, str]]:
    if at.type.takes is Quantity:
        yield from _no_quantity(value)
    elif value is None or at.type.takes is object:
        return
    elif not at.type.reads(value):
        to = f"Go struct field {at.owner}.{'.'.join(at.fields)} of type {at.type.name}"
        yield _Wrong.TYPE, f"json: cannot unmarshal {_json_type(value, at.type)} into {to}"
    elif isinstance(value, dict):
        for key, item in cast("Object", value).items():
            if below := at.field(key):
                yield from _problems(item, below)
            else:
                path = f"{at.path}.{key}" if at.path else key
                yield _Wrong.FIELD, f'unknown field "{path}"'
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _problems(item, at.item(index))


def _no_quantity(item: object) -> Iterator[tuple[_Wrong, str]]:
    """Source: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/resource/quantity.go#L125."""
    text = json.dumps(item) if not isinstance(item, str) else item.strip()
    try:
        if item is not None:
            Quantity.parse(text)
    except ValueError:
        reported = (
            "unable to parse quantity's suffix"
            if _SHAPE.fullmatch(text)
            else f"{_NO_QUANTITY} '{_QUANTITY_PATTERN}'"
        )
        yield _Wrong.QUANTITY, reported


def _json_type(value: object, requested: Go) -> str:
    """Return Go's name for the type of a JSON value."""
    names: dict[type, str] = {str: "string", bool: "bool", list: "array", dict: "object"}
    reported = names.get(type(value), "number")
    return f"number {value}" if reported == "number" and requested.takes is int else reported
