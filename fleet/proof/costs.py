"""What a copy asks for, what it gets, and what of that nobody uses: memory and multiprocessors.

Asked is what the selectors demand at least; a claim that demands no amount of something asks for none of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from fleet.devices.quantity import Quantity
from fleet.drivers.published import mebibytes
from fleet.proof.cel import UNKNOWN, clauses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from fleet.proof.asks import Ask, ClaimAsk
    from fleet.proof.shapes import Shape, ShapeDevice

_LEAST = re.compile(
    r"\.(?P<name>memory|multiprocessors)\s*\.\s*(?:compareTo\(\s*quantity\(\s*['\"](?P<limit>[^'\"]+)['\"]\s*\)"
    r"\s*\)\s*>=?\s*0|isGreaterThan\(\s*quantity\(\s*['\"](?P<other>[^'\"]+)['\"]\s*\)\s*\))\s*$"
)
_MEBI = 2**20


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """Memory as a quantity and multiprocessors; None where it is not known or not asked for."""

    memory: str | None
    multiprocessors: int | None


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One copy: asked, got, and stranded, which is got less asked; and what a full node leaves unused.

    Attributes:
        asked: At least, by the selectors.
        got: What its devices have.
        stranded: What it holds beyond what it asked for.
        left_on_node: Of the devices that match, what no further copy can use on a node full of copies.
    """

    asked: Amounts
    got: Amounts
    stranded: Amounts
    left_on_node: Amounts


def cost(
    claim: ClaimAsk, shape: Shape, chosen: Sequence[tuple[str, str, str]], left: frozenset[tuple[str, str]]
) -> Cost:
    """What one copy costs on a node.

    Args:
        claim: What it asks for.
        shape: The node.
        chosen: The devices that it gets: (request or request/alternative, driver, device).
        left: The matching devices that are free once the node is full of copies.
    """
    return _cost(claim, shape.devices, tuple(chosen), left)


@lru_cache(maxsize=4096)
def _cost(
    claim: ClaimAsk,
    published: tuple[ShapeDevice, ...],
    chosen: tuple[tuple[str, str, str], ...],
    left: frozenset[tuple[str, str]],
) -> Cost:
    devices = {device.key: device for device in published}
    held = [devices[driver, name] for _, driver, name in chosen]
    by_name = {ask.name: ask for ask in claim.asks}
    asks = [by_name[request] for request, _, _ in chosen]
    got = {name: _total([_has(device, name) for device in held]) for name in ("memory", "multiprocessors")}
    asked = {name: _total([_least(ask, name) for ask in asks]) for name in got}
    stranded = {
        name: None if got[name] is None or asked[name] is None else _difference(got[name], asked[name])
        for name in got
    }
    unused = {name: _total([_has(devices[key], name) for key in sorted(left)]) for name in got}
    return Cost(
        asked=_amounts(asked), got=_amounts(got), stranded=_amounts(stranded), left_on_node=_amounts(unused)
    )


def _least(ask: Ask, name: str) -> Fraction | None:
    found: list[Fraction] = []
    for selector in ask.selectors:
        for clause in clauses(selector.expression):
            limit = _LEAST.search(clause)
            if limit and limit["name"] == name:
                found.append(_amount(limit["limit"] or limit["other"]))
    return max(found, default=None)


@lru_cache(maxsize=4096)
def _amount(text: str) -> Fraction:
    return Quantity.parse(text).amount


def _has(device: ShapeDevice, name: str) -> Fraction | None:
    if device.seen.get("allowMultipleAllocations"):
        return None  # a copy holds a part of it
    capacity = cast("Mapping[str, Any]", device.seen.get("capacity", {}))
    for key, entry in capacity.items():
        if key.rpartition("/")[2] == name:
            return None if entry["value"] is UNKNOWN else _amount(str(entry["value"]))
    if name == "multiprocessors" and device.multiprocessors is not None:
        return _amount(str(device.multiprocessors))
    return None


def _total(values: Sequence[Fraction | None]) -> Fraction | None:
    known = [value for value in values if value is not None]
    return sum(known, start=_amount("0")) if len(known) == len(values) else None


def _difference(got: Fraction | None, asked: Fraction | None) -> Fraction | None:
    return None if got is None or asked is None else got - asked


def _amounts(values: Mapping[str, Fraction | None]) -> Amounts:
    memory, multiprocessors = values["memory"], values["multiprocessors"]
    return Amounts(
        memory=None if memory is None else mebibytes(int(memory / _MEBI)) if memory else "0",
        multiprocessors=None if multiprocessors is None else int(multiprocessors),
    )
