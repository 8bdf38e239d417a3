"""Kubernetes' own CEL types as protobuf messages, the only opaque values the evaluator carries.

Each holds one canonical text, so that two values are equal exactly when the API server calls them equal.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from dra_fleet.kubernetes.cel import declarations, semver
from dra_fleet.kubernetes.devices.quantity import Quantity

if TYPE_CHECKING:
    from google.protobuf import descriptor_pool

_NUMBER = re.compile(r"[+-]?([0-9]*)(?:\.([0-9]*))?(.*)")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_PRECISION = 15
_LONGEST = 18

Message = Any
"""A message of package ``kubernetes``; its text is in the one field CANONICAL."""

CANONICAL = "canonical__"
NOT_INTEGER = "not_integer__"
"""Set on a quantity that Go keeps as decimals whatever its value, so that asInteger() refuses it."""
COMPUTED = "computed__"
"""Set on the result of add() and sub(), which a server cannot have on the right of `==`."""


@cache
def pool() -> descriptor_pool.DescriptorPool:
    """Return the descriptor pool with the messages."""
    from google.protobuf import descriptor_pb2, descriptor_pool  # noqa: PLC0415 - slow to import

    file = descriptor_pb2.FileDescriptorProto(
        name="fleet/kubernetes.proto", package="kubernetes", syntax="proto3"
    )
    for name in declarations.MESSAGES:
        field = file.message_type.add(name=name).field.add(name=CANONICAL, number=1)
        field.type, field.label = field.TYPE_STRING, field.LABEL_OPTIONAL
        for number, flag_name in ((2, NOT_INTEGER), (3, COMPUTED)):
            flag = file.message_type[-1].field.add(name=flag_name, number=number)
            flag.type, flag.label = flag.TYPE_BOOL, flag.LABEL_OPTIONAL
    made = descriptor_pool.DescriptorPool()
    made.Add(file)  # pyright: ignore[reportUnknownMemberType]
    return made


@cache
def _class(name: str) -> type[Any]:
    from google.protobuf import message_factory  # noqa: PLC0415 - slow to import

    return message_factory.GetMessageClass(pool().FindMessageTypeByName(f"kubernetes.{name}"))


def make(name: str, text: str, *, not_integer: bool = False, computed: bool = False) -> Message:
    """Return a message of type ``name`` with its canonical text."""
    return _class(name)(**{CANONICAL: text, NOT_INTEGER: not_integer, COMPUTED: computed})


def is_message(value: object) -> bool:
    """Return True if a value has one of Kubernetes' own types."""
    return hasattr(value, CANONICAL)


def is_never_integer(message: Message) -> bool:
    """Return True if asInteger() rejects a quantity because of its notation."""
    return bool(getattr(message, NOT_INTEGER))


def text_of(message: Message) -> str:
    return str(getattr(message, CANONICAL))


def type_of(message: Message) -> str:
    """Return the bare type name of a message: Quantity, Semver, IP or CIDR."""
    return str(message.DESCRIPTOR.name)


@lru_cache(maxsize=4096)
def quantity(text: str) -> Message:
    """Read a quantity.

    Raises:
        ValueError: The text is not a quantity.
    """
    return make("Quantity", str(Quantity.parse(text).amount), not_integer=_is_decimal(text))


def _is_decimal(text: str) -> bool:
    """Return True if Go parses the quantity as decimals; its fast path has no fraction and few binary digits.

    Source: ParseQuantity of
    https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/resource/quantity.go.
    """
    match = _NUMBER.match(text)
    if match is None or text == "0":
        return False
    digits, fraction, suffix = match[1].lstrip("0") or "0", match[2] or "", match[3]
    if suffix in _BINARY:
        return bool(fraction) or _PRECISION - len(digits) - int(_BINARY[suffix] * 3 / 10) - 1 < 0
    exponent = _DECIMAL.get(suffix)
    scale = (int(suffix[1:]) if exponent is None else exponent) - len(fraction)
    return scale < 0 or _LONGEST - len(digits) - len(fraction) < 0


@lru_cache(maxsize=4096)
def version(text: str) -> Message:
    """Read a semantic version (https://semver.org, no leading v).

    Raises:
        ValueError: The text is not a semantic version.
    """
    return make("Semver", semver.parse(text).canonical)
