"""The engine's wire form of properties, as plain values with marks for unknown and secret.

One skip the protobuf value itself: the policy SDK's way through JSON text costs several times that, once
per policy. https://github.com/pulumi/pulumi/blob/master/sdk/go/common/resource/plugin/rpc.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from google.protobuf.struct_pb2 import Struct

from dra_fleet.core.declared.values import Missing, Secret
from dra_fleet.core.findings.engine_events import OUTPUT, SECRET, SIGNATURE, UNKNOWN_TEXT, UNKNOWNS

if TYPE_CHECKING:
    from google.protobuf.struct_pb2 import Value as WireValue


def decode(properties: Struct) -> dict[str, object]:
    """Decode the properties of a resource from the wire."""
    return {key: _value(value) for key, value in properties.fields.items()}


def _value(value: WireValue) -> object:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        text = value.string_value
        return Missing.UNKNOWN if text in UNKNOWNS else text
    if kind == "struct_value":
        return _marked({key: _value(item) for key, item in value.struct_value.fields.items()})
    if kind == "list_value":
        return [_value(item) for item in value.list_value.values]
    if kind == "bool_value":
        return value.bool_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    return None


def from_plain(value: object) -> object:
    """Decode the same marks in a plain value, as in the engine's JSON events."""
    if isinstance(value, str):
        return Missing.UNKNOWN if value in UNKNOWNS else value
    if isinstance(value, dict):
        return _marked({key: from_plain(item) for key, item in cast("dict[str, Any]", value).items()})
    if isinstance(value, list):
        return [from_plain(item) for item in cast("list[Any]", value)]
    return value


def _marked(items: Mapping[str, object]) -> object:
    signature = items.get(SIGNATURE)
    if signature == SECRET:  # saved events hide the value: it is not known
        return Secret(items.get("value", Missing.UNKNOWN))
    if signature == OUTPUT:
        value = items.get("value", Missing.UNKNOWN)
        return Secret(value) if items.get("secret") else value
    return items


def encode(properties: Mapping[str, object]) -> Struct:
    """Properties for the wire; what was secret or unknown stays so."""
    struct = Struct()
    for key, value in properties.items():
        struct.update({key: _wire(value)})
    return struct


def _wire(value: object) -> Any:  # noqa: ANN401 - what a Struct takes
    if value is Missing.UNKNOWN:
        return UNKNOWN_TEXT
    if isinstance(value, Secret):
        return {SIGNATURE: SECRET, "value": _wire(value.value)}
    if isinstance(value, Mapping):
        return {key: _wire(item) for key, item in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list):
        return [_wire(item) for item in cast("list[object]", value)]
    return value
