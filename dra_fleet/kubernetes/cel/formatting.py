"""``format`` in CEL: values put into a text, such as ``'%s-%d'.format([device.driver, 3])``.

Source: https://github.com/google/cel-go/blob/v0.26.0/ext/formatting.go, whose locale is en_US. As there,
``%e`` takes its precision for a width.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs]

from dra_fleet.kubernetes.cel import syntax
from dra_fleet.kubernetes.cel.verdict import BEYOND, CelUnsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dra_fleet.kubernetes.cel.implementation import Implementation
    from dra_fleet.kubernetes.cel.syntax import CheckedTree, Node

Value = Any

_PIECE = re.compile(r"%%|%(?:\.(?P<precision>[0-9]*))?(?P<verb>.?)|[^%]+", re.DOTALL)
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_ESCAPED = dict(zip('\a\b\f\n\r\t\v\\"', ("\\" + letter for letter in 'abfnrtv\\"'), strict=True))
_DEFAULT_PRECISION = 6
_MOST_PRECISION = 1000
_WORDS = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
_BEYOND = {"inf": "∞", "-inf": "-∞", "nan": "NaN"}
_LARGE, _SMALL = 6, -4
_TYPE_NAMES = {
    "NULL": "null_type",
    "DURATION": "google.protobuf.Duration",
    "TIMESTAMP": "google.protobuf.Timestamp",
}

_WHOLE = ("int", "uint")
_TIMES = ("google.protobuf.Timestamp", "google.protobuf.Duration")
_ALLOWED: dict[str, tuple[str, ...]] = {
    "s": (*_WHOLE, "double", "bool", "string", "bytes", "null", "list", "map", "type", *_TIMES),
    "d": _WHOLE,
    "f": ("double", "string"),
    "e": ("double", "string"),
    "b": (*_WHOLE, "bool"),
    "x": (*_WHOLE, "string", "bytes"),
    "X": (*_WHOLE, "string", "bytes"),
    "o": _WHOLE,
}


class _Clause(NamedTuple):
    verb: str
    precision: int | None


def _pieces(template: str) -> Iterator[str | _Clause]:
    for match in _PIECE.finditer(template):
        if match["verb"] is None:
            yield "%" if match[0] == "%%" else match[0]
            continue
        if match["precision"] == "" or match["verb"] not in _ALLOWED:
            raise ValueError(f"could not parse formatting clause: {match[0]!r}")
        precision = None if match["precision"] is None else int(match["precision"])
        if precision is not None and precision > sys.maxsize:
            raise ValueError(f"could not parse formatting clause: {match[0]!r}")
        if precision is not None and precision > _MOST_PRECISION:
            raise CelUnsupported(f"a precision above {_MOST_PRECISION} {BEYOND}")
        yield _Clause(match["verb"], precision)


def problems(checked: CheckedTree, type_text: Callable[[Node], str]) -> Iterator[tuple[Node, str]]:
    """What a server refuses of constant texts that are given a written list of values.

    Args:
        checked: the checked expression.
        type_text: a node's type, as the server writes it.
    """
    for node in checked.find("format"):
        template = syntax.string_constant(node.call.target)
        if template is not None and node.call.args[0].WhichOneof("kind") == "list":
            yield from _problem(node, template, list(node.call.args[0].list.elements), type_text)


def _problem(
    node: Node, template: str, given: list[Node], type_text: Callable[[Node], str]
) -> Iterator[tuple[Node, str]]:
    try:
        clauses = [piece for piece in _pieces(template) if isinstance(piece, _Clause)]
    except ValueError as problem:
        yield node, str(problem)
        return
    for clause, argument in zip(clauses, given, strict=False):
        parts = _written_parts(argument) if clause.verb == "s" else [argument]
        for part in parts:
            kind = type_text(part)
            if kind.partition("(")[0] not in (*_ALLOWED[clause.verb], "dyn"):
                yield part, f"error during formatting: %{clause.verb} was given {kind}"
                return
    if len(clauses) > len(given):
        yield node, f"index {len(given)} out of range"
    elif len(clauses) < len(given):
        told = f"expected {len(clauses)}, got {len(given)}"
        yield node, f"too many arguments supplied to string.format ({told})"


def _written_parts(node: Node) -> list[Node]:
    """A value and, of a written list or map, all that is in it."""
    if node.WhichOneof("kind") not in ("list", "struct"):
        return [node]
    return [node, *(part for child in syntax.children(node) for part in _written_parts(child))]


def _format(template: str, values: Sequence[Value]) -> str:
    told: list[str] = []
    left = iter(values)
    for piece in _pieces(template):
        if isinstance(piece, str):
            told.append(piece)
            continue
        try:
            value = next(left)
        except StopIteration:
            raise ValueError(f"index {len(values)} out of range") from None
        told.append(_clause(piece, value))
    return "".join(told)


def _clause(clause: _Clause, value: Value) -> str:
    if clause.verb == "s":
        return _string(value)
    if clause.verb in "fe":
        return _decimal(clause, value)
    if isinstance(value, bool):
        _require(clause.verb == "b", clause.verb, value)
        return "1" if value else "0"
    if isinstance(value, int):
        return f"{value:{clause.verb}}"
    _require(clause.verb in "xX" and isinstance(value, str | bytearray), clause.verb, value)
    hexadecimal = (value.encode() if isinstance(value, str) else value).hex()
    return hexadecimal.upper() if clause.verb == "X" else hexadecimal


def _require(holds: bool, verb: str, value: Value) -> None:
    if not holds:
        raise ValueError(f"error during formatting: %{verb} was given {type(value).__name__}")


def _decimal(clause: _Clause, value: Value) -> str:
    number = float(_WORDS[value]) if isinstance(value, str) and value in _WORDS else value
    _require(isinstance(number, float), clause.verb, value)
    precision = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    text = _BEYOND.get(str(number), "")
    if clause.verb == "f":
        return text or f"{number:,.{precision}f}"
    mantissa, _, exponent = f"{number:.{_DEFAULT_PRECISION}e}".partition("e")
    return (text or f"{mantissa}\u00d710{exponent.lstrip('+').translate(_SUPERSCRIPT)}").rjust(precision)


def _string(value: object) -> str:
    shown = _SHOWN.get(type(value))
    if shown is None:
        raise ValueError(f"error during formatting: %s was given {type(value).__name__}")
    return shown(value)


def _type_name(value: cel.Type) -> str:
    name = value.name().partition("<")[0]
    return _TYPE_NAMES.get(name, name.lower() if name.isupper() else name)


def _inside(value: Value) -> str:
    """A value as a list or map shows it."""
    if isinstance(value, list):
        return f"[{', '.join(map(_inside, value))}]"  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, dict):
        entries = sorted((_inside(key), _inside(item)) for key, item in value.items())  # pyright: ignore[reportUnknownVariableType]
        return "{" + ", ".join(f"{key}:{item}" for key, item in entries) + "}"
    text = _string(value)
    if isinstance(value, float):
        return f'"{text}"' if str(value) in _BEYOND else f"{value:.{_DEFAULT_PRECISION}f}"
    if isinstance(value, dt.datetime | dt.timedelta):
        return f'{"duration" if isinstance(value, dt.timedelta) else "timestamp"}("{text}")'
    if isinstance(value, str | bytearray):
        return f"b{_quoted(text)}" if isinstance(value, bytearray) else _quoted(text)
    return text


def _quoted(text: str) -> str:
    """A text as Go quotes it."""

    def written(character: str) -> str:
        number = ord(character)
        if character.isprintable() or character in _ESCAPED:
            return _ESCAPED.get(character, character)
        if number <= 0x7F:  # noqa: PLR2004 - ASCII
            return f"\\x{number:02x}"
        return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004 - the basic plane

    return f'"{"".join(map(written, text))}"'


def _shortest(number: float) -> str:
    """A double as Go writes it: an exponent from a million on."""
    if str(number) in _BEYOND:
        return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}[str(number)]
    exact = Decimal(repr(number)).normalize()
    if exact and not _SMALL <= exact.adjusted() < _LARGE:
        digits = f"{exact:e}".partition("e")[0]
        return f"{digits}e{exact.adjusted():+03d}"
    return f"{exact:f}"


def _time(value: dt.datetime | dt.timedelta) -> str:
    if isinstance(value, dt.timedelta):
        return f"{Decimal(repr(value.total_seconds())).normalize():f}s"
    fraction = f".{value.microsecond:06d}".rstrip("0.")
    return f"{value.astimezone(dt.UTC).replace(tzinfo=None, microsecond=0).isoformat()}{fraction}Z"


_SHOWN: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    int: str,
    float: _shortest,
    str: str,
    bytearray: lambda value: value.decode(),
    dt.datetime: _time,
    dt.timedelta: _time,
    cel.Type: _type_name,
    list: _inside,
    dict: _inside,
}

IMPLEMENTATIONS: dict[str, list[tuple[str, Implementation]]] = {"format": [("string list", _format)]}
