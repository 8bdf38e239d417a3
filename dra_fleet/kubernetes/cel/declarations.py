"""Functions and types that Kubernetes adds to CEL, as its type checker and its evaluator need them.

One function a line: ``Receiver .name(arguments) -> result``. Names with a capital are messages of package
``kubernetesXX
Source, read on 2026-11-21: pkg/cel/library and
https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/cel/environment/base.go
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dra_fleet.kubernetes.cel import semver
from dra_fleet.kubernetes.devices.quantity import Quantity

if TYPE_CHECKING:
    from google.protobuf import descriptor_pool


MESSAGES = ("Quantity", "Semver", "IP", "CIDR", "URL", "NamedFormat")

_KUBERNETES = """
quantity(string) -> Quantity
isQuantity(string) -> bool
sign(Quantity) -> int
Quantity .isGreaterThan(Quantity) -> bool
Quantity .isLessThan(Quantity) -> bool
Quantity .compareTo(Quantity) -> int
Quantity .asApproximateFloat() -> double
Quantity .asInteger() -> int
Quantity .isInteger() -> bool
Quantity .add(Quantity) -> Quantity
Quantity .add(int) -> Quantity
Quantity .sub(Quantity) -> Quantity
Quantity .sub(int) -> Quantity
semver(string) -> Semver
semver(string, bool) -> Semver
isSemver(string) -> bool
isSemver(string, bool) -> bool
Semver .isGreaterThan(Semver) -> bool
Semver .isLessThan(Semver) -> bool
Semver .compareTo(Semver) -> int
Semver .major() -> int
Semver .minor() -> int
Semver .patch() -> int
list<int> .sum() -> int
list<uint> .sum() -> uint
list<double> .sum() -> double
list<duration> .sum() -> duration
list<int> .min() -> int
list<uint> .min() -> uint
list<double> .min() -> double
list<bool> .min() -> bool
list<duration> .min() -> duration
list<timestamp> .min() -> timestamp
list<string> .min() -> string
list<bytes> .min() -> bytes
list<int> .max() -> int
list<uint> .max() -> uint
list<double> .max() -> double
list<bool> .max() -> bool
list<duration> .max() -> duration
list<timestamp> .max() -> timestamp
list<string> .max() -> string
list<bytes> .max() -> bytes
list<int> .isSorted() -> bool
list<uint> .isSorted() -> bool
list<double> .isSorted() -> bool
list<bool> .isSorted() -> bool
list<duration> .isSorted() -> bool
list<timestamp> .isSorted() -> bool
list<string> .isSorted() -> bool
list<bytes> .isSorted() -> bool
list<~A> .indexOf(~A) -> int
list<~A> .lastIndexOf(~A) -> int
dyn .includes(dyn) -> bool
string .charAt(int) -> string
string .indexOf(string) -> int
string .indexOf(string, int) -> int
string .lastIndexOf(string) -> int
string .lastIndexOf(string, int) -> int
string .lowerAscii() -> string
string .upperAscii() -> string
string .replace(string, string) -> string
string .replace(string, string, int) -> string
string .split(string) -> list<string>
string .split(string, int) -> list<string>
string .substring(int) -> string
string .substring(int, int) -> string
string .trim() -> string
strings.quote(string) -> string
list<string> .join() -> string
list<string> .join(string) -> string
string .find(string) -> string
string .findAll(string) -> list<string>
string .findAll(string, int) -> list<string>
sets.contains(list<~T>, list<~T>) -> bool
sets.equivalent(list<~T>, list<~T>) -> bool
sets.intersects(list<~T>, list<~T>) -> bool
string(bool) -> string
string(int) -> string
string(uint) -> string
string(double) -> string
string(string) -> string
string(bytes) -> string
string(timestamp) -> string
string(duration) -> string
"""

_NOT_EVALUATED = """
ip(string) -> IP
isIP(string) -> bool
ip.isCanonical(string) -> bool
IP .family() -> int
IP .isUnspecified() -> bool
IP .isLoopback() -> bool
IP .isLinkLocalMulticast() -> bool
IP .isLinkLocalUnicast() -> bool
IP .isGlobalUnicast() -> bool
cidr(string) -> CIDR
isCIDR(string) -> bool
CIDR .containsIP(string) -> bool
CIDR .containsIP(IP) -> bool
CIDR .containsCIDR(string) -> bool
CIDR .containsCIDR(CIDR) -> bool
CIDR .ip() -> IP
CIDR .prefixLength() -> int
CIDR .masked() -> CIDR
string(IP) -> string
string(CIDR) -> string
string .format(list<dyn>) -> string
url(string) -> URL
isURL(string) -> bool
URL .getScheme() -> string
URL .getHost() -> string
URL .getHostname() -> string
URL .getPort() -> string
URL .getEscapedPath() -> string
URL .getQuery() -> map<string, list<string>>
NamedFormat .validate(string) -> optional_type<list<string>>
format.named(string) -> optional_type<NamedFormat>
format.dns1123Label() -> NamedFormat
format.dns1123Subdomain() -> NamedFormat
format.dns1035Label() -> NamedFormat
format.qualifiedName() -> NamedFormat
format.dns1123LabelPrefix() -> NamedFormat
format.dns1123SubdomainPrefix() -> NamedFormat
format.dns1035LabelPrefix() -> NamedFormat
format.labelValue() -> NamedFormat
format.uri() -> NamedFormat
format.uuid() -> NamedFormat
format.byte() -> NamedFormat
format.date() -> NamedFormat
format.datetime() -> NamedFormat
"""
"""Functions that the server has and no driver's selector uses: checked, but not evaluated."""

_LISTS = """
list<~T> .slice(int, int) -> list<~T>
list<list<~T>> .flatten() -> list<~T>
list<dyn> .flatten(int) -> list<dyn>
list<~T> .distinct() -> list<~T>
list<~T> .reverse() -> list<~T>
list<int> .sort() -> list<int>
list<uint> .sort() -> list<uint>
list<double> .sort() -> list<double>
list<bool> .sort() -> list<bool>
list<duration> .sort() -> list<duration>
list<timestamp> .sort() -> list<timestamp>
list<string> .sort() -> list<string>
list<bytes> .sort() -> list<bytes>
lists.range(int) -> list<int>
"""

# Values of these lists do not survive the way into an implementation and back: their exact kind is lost.
_LOSSY = ("list<uint>", "list<duration>", "list<timestamp>")

_ORDERED = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
_NUMERIC = ("int", "uint", "double")

COMPARISONS = ("_<_", "_<=_", "_>_", "_>=_")
"""Operators of the standard library that Kubernetes also declares across numeric types."""

REPLACED = (*COMPARISONS, "string")
"""Functions of the standard library that are declared here instead, with all their overloads."""

_LINE = re.compile(r"(?:(?P<receiver>\S.*?) \.)?(?P<name>[\w.@<>=]+?)\((?P<arguments>.*)\) -> (?P<result>.+)")
_MESSAGE = re.compile(rf"\b({'|'.join(MESSAGES)})\b")


class Signature(Struct, frozen=True):
    """An overload: its types in the evaluator's notation, with the receiver first."""

    identity: str
    name: str
    parameters: tuple[str, ...]
    result: str
    is_member: bool
    is_evaluated: bool = True


@cache
def signatures() -> tuple[Signature, ...]:
    """Every overload declared beside the evaluator's own libraries, but those of lists."""
    return (*_read(_KUBERNETES, _LOSSY), *_read(_NOT_EVALUATED, evaluated=False), *_comparisons())


@cache
def list_signatures() -> tuple[Signature, ...]:
    """Return the functions of lists, for which the evaluator reports less exact types."""
    return tuple(_read(_LISTS))


def _read(table: str, lossy: tuple[str, ...] = (), *, evaluated: bool = True) -> list[Signature]:
    found: list[Signature] = []
    for line in filter(None, table.splitlines()):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"no function declaration: {line!r}")
        receiver = match["receiver"]
        parameters = [receiver] if receiver else []
        parameters += [part for part in match["arguments"].split(", ") if part]
        found.append(
            Signature(
                identity=line,
                name=match["name"],
                parameters=tuple(_qualified(part) for part in parameters),
                result=_qualified(match["result"]),
                is_member=receiver is not None,
                is_evaluated=evaluated and receiver not in lossy,
            )
        )
    return found


def _qualified(text: str) -> str:
    return _MESSAGE.sub(r"kubernetes.\1", text)


def _comparisons() -> list[Signature]:
    pairs = [(kind, kind) for kind in _ORDERED]
    pairs += [(left, right) for left in _NUMERIC for right in _NUMERIC if left != right]
    return [
        Signature(f"{left} {name} {right}", name, (left, right), "bool", is_member=False)
        for name in COMPARISONS
        for left, right in pairs
    ]


# Kubernetes' own CEL types as protobuf messages, the only opaque values the evaluator carries. Each holds
# one canonical text, so that two values are equal exactly when the API server calls them equal.

_NUMBER = re.compile(r"[+-]?([0-9]*)(?:\.([0-9]*))?(.*)")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_PRECISION = 15
_LONGEST = 18

Message = Any
"""A message of package ``kubernetes``; its text is in the one field CANONICAL."""

DEVICE = "DRADevice"
"""The server's type of `device`. Its fields are variables here, so that it has none."""

PRESENT = "__device_field__"
"""A variable that is true; it stands for `has()` of a field of the device."""

CANONICAL = "canonical__"
NOT_INTEGER = "not_integer__"
"""Set on a quantity that Go keeps as decimals whatever its value, so that asInteger() refuses it."""
COMPUTED = "computed__"
"""Set on the result of add() and sub(), which a server cannot have on the right of `==`."""


@cache
def pool() -> descriptor_pool.DescriptorPool:
    """Return the descriptor pool with the messages, and with one for the device itself."""
    from google.protobuf import descriptor_pb2, descriptor_pool  # noqa: PLC0415 - slow to import

    file = descriptor_pb2.FileDescriptorProto(
        name="fleet/kubernetes.proto", package="kubernetes", syntax="proto3"
    )
    for name in MESSAGES:
        field = file.message_type.add(name=name).field.add(name=CANONICAL, number=1)
        field.type, field.label = field.TYPE_STRING, field.LABEL_OPTIONAL
        for number, flag_name in ((2, NOT_INTEGER), (3, COMPUTED)):
            flag = file.message_type[-1].field.add(name=flag_name, number=number)
            flag.type, flag.label = flag.TYPE_BOOL, flag.LABEL_OPTIONAL
    file.message_type.add(name=DEVICE)
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
