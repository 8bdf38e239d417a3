"""The functions Kubernetes adds to CEL, as its type checker sees them.

One function a line: ``Receiver .name(arguments) -> result``. Names with a capital are messages of package
``kubernetesXX
Source, read on 2026-11-21: pkg/cel/library and
https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/cel/environment/base.go
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

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


@dataclass(frozen=True)
class Signature:
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
