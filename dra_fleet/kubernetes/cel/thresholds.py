"""The amounts at which what an expression says of a quantity may change.

Between two of them nothing changes, unless the expression computes with the quantity.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final

from dra_fleet.kubernetes.devices.quantity import Quantity

_QUANTITY: Final = re.compile(r"""\bquantity\(\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\)""")
_TEXT: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_MINUS: Final = re.compile(r"[\w)\]]\s*-")
_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\s*\*\s*\d+)*(?![\w.])")
_COMPUTES: Final = re.compile(r"[*/%+]|\d|\.(?:add|sub|asApproximateFloat)\(")


@lru_cache(maxsize=4096)
def thresholds(expression: str) -> tuple[int, ...] | None:
    """The whole amounts at and beside which the expression compares; None where it computes with one."""
    amounts: set[int] = set()
    for match in _QUANTITY.finditer(expression):
        try:
            amounts.add(math.floor(Quantity.parse(match[1] or match[2] or "").amount))
        except ValueError:
            return None
    rest = _TEXT.sub("", _QUANTITY.sub("", expression))
    amounts |= {math.prod(map(int, number.split("*"))) for number in _NUMBER.findall(rest)}
    if _MINUS.search(rest) or _COMPUTES.search(re.sub(r"\b[A-Za-z_]\w*", _kept, _NUMBER.sub("", rest))):
        return None
    return tuple(sorted({amount + beside for amount in amounts for beside in (-1, 0, 1)}))


def _kept(name: re.Match[str]) -> str:
    """A name without its digits, which are no numbers."""
    return re.sub(r"\d", "", name[0])
