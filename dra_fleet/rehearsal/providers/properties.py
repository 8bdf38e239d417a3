"""Property values as the engine sends them: protobuf Structs with marks for secrets and unknowns.

Inside a provider they are plain Python values in which a secret is a `SecretValue` and a value that is not
yet known is `UNKNOWN`. Assets, archives and resource references are not understood: nothing here takes them.
Encoding: https://github.com/pulumi/pulumi/blob/master/developer-docs/providers/provider-implementers-guide.md
"""

from __future__ import annotations

from typing import Any, Final, cast

from google.protobuf import struct_pb2
from msgspec import Struct

from dra_fleet.core.findings.engine_events import SECRET, SIGNATURE, UNKNOWN_TEXT, UNKNOWNS

Properties = dict[str, Any]
"""Decoded properties: JSON values, `SecretValue` and `UNKNOWN`."""


class UnknownValue:
    """A value that becomes known only when something is created."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = UnknownValue()


class SecretValue(Struct, frozen=True):
    """A value the engine must encrypt in its state and hide in its output."""

    value: Any

    def __repr__(self) -> str:
        return "Secret([secret])"


def decode(struct: struct_pb2.Struct) -> Properties:
    """Read what the engine sent. Whole numbers become integers, as Kubernetes wants them."""
    return {key: _decode(value) for key, value in struct.fields.items()}


def _decode(value: struct_pb2.Value) -> Any:  # noqa: ANN401, PLR0911 - one return for each JSON type
    match value.WhichOneof("kind"):
        case "struct_value":
            fields = value.struct_value.fields
            if SIGNATURE in fields and fields[SIGNATURE].string_value == SECRET:
                return SecretValue(_decode(fields["value"]))
            return {key: _decode(item) for key, item in fields.items()}
        case "list_value":
            return [_decode(item) for item in value.list_value.values]
        case "string_value":
            return UNKNOWN if value.string_value in UNKNOWNS else value.string_value
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() else number
        case "bool_value":
            return value.bool_value
        case _:
            return None


def encode(properties: Properties) -> struct_pb2.Struct:
    """Write properties as the engine reads them."""
    return struct_pb2.Struct(fields={key: _encode(value) for key, value in properties.items()})


def _encode(value: Any) -> struct_pb2.Value:  # noqa: ANN401, PLR0911 - one return for each JSON type
    match value:
        case None:
            return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
        case UnknownValue():
            return struct_pb2.Value(string_value=UNKNOWN_TEXT)
        case SecretValue():
            marked = {SIGNATURE: SECRET, "value": value.value}
            return struct_pb2.Value(struct_value=encode(marked))
        case bool():
            return struct_pb2.Value(bool_value=value)
        case int() | float():
            return struct_pb2.Value(number_value=value)
        case str():
            return struct_pb2.Value(string_value=value)
        case dict():
            return struct_pb2.Value(struct_value=encode(cast("Properties", value)))
        case list() | tuple():
            items = cast("list[Any]", value)
            return struct_pb2.Value(list_value=struct_pb2.ListValue(values=[_encode(item) for item in items]))
        case _:
            raise TypeError(f"a {type(value).__name__} is not a property value")


def plain(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value without its secret marks; unknowns stay."""
    match value:
        case SecretValue():
            return plain(value.value)
        case dict():
            return {key: plain(item) for key, item in cast("Properties", value).items()}
        case list():
            return [plain(item) for item in cast("list[Any]", value)]
        case _:
            return value


def without_nulls(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value without keys that are null, at any depth: Kubernetes ignores nulls."""
    match value:
        case SecretValue():
            return SecretValue(without_nulls(value.value))
        case dict():
            items = cast("Properties", value).items()
            return {key: without_nulls(item) for key, item in items if item is not None}
        case list():
            return [without_nulls(item) for item in cast("list[Any]", value)]
        case _:
            return value


def has_unknown(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether a value contains an unknown value at any depth."""
    match value:
        case UnknownValue():
            return True
        case SecretValue():
            return has_unknown(value.value)
        case dict():
            return any(has_unknown(item) for item in cast("Properties", value).values())
        case list():
            return any(has_unknown(item) for item in cast("list[Any]", value))
        case _:
            return False


def has_secret(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether a value contains a secret at any depth."""
    match value:
        case SecretValue():
            return True
        case dict():
            return any(has_secret(item) for item in cast("Properties", value).values())
        case list():
            return any(has_secret(item) for item in cast("list[Any]", value))
        case _:
            return False


def with_secrets_of(value: Any, marked: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Mark those parts of a plain value as secret that are secret in another of the same shape.

    A list with a secret anywhere inside becomes secret as a whole: its items may have moved.
    """
    if isinstance(marked, SecretValue):
        return SecretValue(plain(value))
    if isinstance(marked, dict) and isinstance(value, dict):
        marks = cast("Properties", marked)
        items = cast("Properties", value).items()
        return {key: with_secrets_of(item, marks.get(key)) for key, item in items}
    if isinstance(marked, list) and has_secret(cast("list[Any]", marked)):
        return SecretValue(plain(value))
    return value


def secret_texts(value: Any, *, inside: bool = False) -> set[str]:  # noqa: ANN401 - any JSON value
    """Every text that is secret, so that it can be kept out of messages."""
    match value:
        case SecretValue():
            return secret_texts(value.value, inside=True)
        case dict():
            parts = list(cast("Properties", value).values())
        case list():
            parts = cast("list[Any]", value)
        case str():
            return {value} if inside else set()
        case _:
            return set()
    return {text for part in parts for text in secret_texts(part, inside=inside)}
