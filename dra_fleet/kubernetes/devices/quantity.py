"""Kubernetes quantities, exact: parse, compare and write them as the API server does.

Source: k8s.io/apimachinery/pkg/api/resource/quantity.go. Amounts are fractions, never floats.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Literal

Format = Literal["BinarySI", "DecimalSI", "DecimalExponent"]

_TEXT = re.compile(r"([+-]?)([0-9]*\.?[0-9]*)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIX = {0: "", **{bits: suffix for suffix, bits in _BINARY.items()}}
_LARGEST = 2**63 - 1
_NANO = 10**9
_KIBI = 1024
ALLOWED = "a number with an optional suffix: n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or e<exponent>"
"""The allowed form of a quantity, for messages."""


@dataclass(frozen=True, order=True)
class Quantity:
    """An amount; two are equal when their amounts are, whatever their notation."""

    amount: Fraction
    format: Format = field(default="DecimalSI", compare=False)

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read a quantity.

        Raises:
            ValueError: The text is not a quantity.
        """
        return cls(*_parsed(text))

    def __str__(self) -> str:
        """Return the canonical text, which the API server stores."""
        small = abs(self.amount) < _KIBI
        if self.format == "BinarySI" and not small and self.amount.denominator == 1:
            return self._binary()
        return self._decimal()

    def _binary(self) -> str:
        number, bits = self.amount.numerator, 0
        while number % _KIBI == 0 and bits < max(_BINARY.values()):
            number, bits = number // _KIBI, bits + 10
        return f"{number}{_BINARY_SUFFIX[bits]}"

    def _decimal(self) -> str:
        if self.amount == 0:
            return "0"
        number, exponent = int(self.amount * _NANO), -9
        while number % 1000 == 0 and exponent < max(_DECIMAL.values()):
            number, exponent = number // 1000, exponent + 3
        if self.format == "DecimalExponent" and exponent:
            return f"{number}e{exponent}"
        return f"{number}{_DECIMAL_SUFFIX[exponent]}"


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[Fraction, Format]:
    match = _TEXT.fullmatch(text)
    if match is None or not text:
        msg = f"{text!r} is not a quantity; allowed: {ALLOWED}"
        raise ValueError(msg)
    sign, number, suffix = match[1], match[2], match[3] or ""
    scale, form = _scale(suffix)
    # Go reads missing digits as 0, rounds up to nano, caps binary amounts at int64, applies the sign.
    amount = Fraction(math.ceil(Fraction(number.rstrip(".") or "0") * scale * _NANO), _NANO)
    if form == "BinarySI":
        amount = min(amount, Fraction(_LARGEST))
    return -amount if sign == "-" else amount, form


def _scale(suffix: str) -> tuple[Fraction, Format]:
    if suffix in _BINARY:
        return Fraction(2 ** _BINARY[suffix]), "BinarySI"
    if suffix in _DECIMAL:
        return _power_of_ten(_DECIMAL[suffix]), "DecimalSI"
    return _power_of_ten(int(suffix[1:])), "DecimalExponent"


def _power_of_ten(exponent: int) -> Fraction:
    # Beyond this an amount is capped or rounded anyway; a huge exponent must not cost memory.
    bounded = max(-100, min(100, exponent))
    return Fraction(10) ** bounded
