"""Opaque parameters, decoded strictly as drivers in Go do with Kubernetes' own library.

Source: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/runtime/serializer/json/json.go and
https://github.com/kubernetes-sigs/json (its errors of types).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import Object


@dataclass(frozen=True)
class Go:
    """A type of Go.

    Attributes:
        name: As its errors write it.
        takes: What JSON it is read from.
        fields: Those of a structure, by name; `*` stands for any key of a map.
    """

    name: str
    takes: type = dict
    fields: Mapping[str, Go] = field(default_factory=dict[str, "Go"])


STRING = Go("string", str)
INT = Go("int", int)
BOOL = Go("bool", bool)
QUANTITY = Go("resource.Quantity", Quantity)


def decode(parameters: Object, api_version: str, kinds: Mapping[str, Mapping[str, Go]]) -> str:
    """Decode parameters strictly; returns their kind.

    Args:
        parameters: as they stand in the claim.
        api_version: the only one that is decoded.
        kinds: the fields of each kind.

    Raises:
        PrepareFailed: with the driver's words.
    """
    version, kind = str(parameters.get("apiVersion", "")), str(parameters.get("kind", ""))
    if version != api_version or kind not in kinds:
        raise PrepareFailed(
            f'error decoding config parameters: no kind "{kind}" is registered for version "{version}" '
            'in scheme "pkg/runtime/scheme.go:111"'
        )
    problem = _problem(parameters, Go(kind, dict, {"apiVersion": STRING, "kind": STRING, **kinds[kind]}), "")
    if problem:
        raise PrepareFailed(f"error decoding config parameters: {problem}")
    return kind


def section(value: Object, key: str) -> Object:
    """A mapping below a key; empty where it is not there, or null."""
    return cast("Object", value.get(key) or {})


def _problem(value: Mapping[str, Any], structure: Go, path: str) -> str:
    for key, item in value.items():
        below = structure.fields.get(key, structure.fields.get("*"))
        if below is None:
            return f'strict decoding error: unknown field "{path}{key}"'
        found = (
            "" if item is None else _unread(item, below, f"{structure.name.rpartition('.')[2]}.{path}{key}")
        )
        if not found and isinstance(item, dict) and below.takes is dict:
            found = _problem(cast("Object", item), below, f"{path}{key}.")
        if found:
            return found
    return ""


def _unread(item: object, wanted: Go, where: str) -> str:
    if wanted is QUANTITY:
        return _no_quantity(item)
    if isinstance(item, wanted.takes) and (wanted.takes is not int or not isinstance(item, bool)):
        return ""
    told = _json_type(item, wanted)
    return f"json: cannot unmarshal {told} into Go struct field {where} of type {wanted.name}"


def _no_quantity(item: object) -> str:
    """Source: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/resource/quantity.go#L125."""
    try:
        Quantity.parse(str(item))
    except ValueError:
        return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    return ""


def _json_type(value: object, wanted: Go) -> str:
    """What Go calls a value of JSON."""
    names: dict[type, str] = {str: "string", bool: "bool", list: "array", dict: "object"}
    told = names.get(type(value), "number")
    return f"number {value}" if told == "number" and wanted.takes is int else told
