"""Requested, allocated and stranded memory and multiprocessors of a copy.

Asked is what the selectors demand at least, or the part of a shared device that a claim names; a claim that
demands no amount of something requests none of it. Got of a shared device is the part that is allocated.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from dra_fleet.kubernetes.cel import UNKNOWN, asked
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.model.specs import mebibytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.nodes import NodeDevice, NodeShape
    from dra_fleet.proof.allocator import Amount, DeviceId
    from dra_fleet.proof.demand.asks import Ask, ClaimAsk

_MEBI = 2**20
_NAMES = ("memory", "multiprocessors")
_NOTHING = Fraction(0)

Shares = tuple[tuple["DeviceId", tuple[tuple[str, "Amount"], ...]], ...]
"""Allocated parts of shared devices, by device and capacity."""
_Allocated = dict[tuple[str, str], dict[str, "Amount"]]


class DeviceAmounts(Struct, frozen=True, kw_only=True, rename="camel"):
    """Memory as a quantity and multiprocessors; None where it is not known or not asked for."""

    memory: str | None
    multiprocessors: int | None


class CopyCost(Struct, frozen=True, kw_only=True, rename="camel"):
    """Cost of a copy: asked, got, stranded (got less asked), and the rest on a full node.

    Attributes:
        asked: At least, by the selectors.
        got: What its devices have.
        stranded: What it holds beyond what it asked for.
        left_on_node: Of the devices that match, what no further copy can use on a node full of copies.
        parts: Of vGPUs which part of which GPU each is, such as "1/6 of a GPU (A10-4Q)".
    """

    asked: DeviceAmounts
    got: DeviceAmounts
    stranded: DeviceAmounts
    left_on_node: DeviceAmounts
    parts: tuple[str, ...] = ()


class Stranded(Struct, frozen=True, kw_only=True, rename="camel"):
    """Capacity of copies beyond their requests.

    Attributes:
        amounts: Memory and multiprocessors of all copies together.
        per_hour: That memory's part of the nodes' price, in USD per hour; None without a public price.
    """

    amounts: DeviceAmounts
    per_hour: float | None

    @property
    def text(self) -> str:
        """The amounts and their price in words."""
        multiprocessors = self.amounts.multiprocessors
        of_device = (
            f"{self.amounts.memory} of memory" if self.amounts.memory not in (None, "0") else "",
            f"{multiprocessors} multiprocessors" if multiprocessors else "",
        )
        price = f" (${self.per_hour:.2f}/hour)" if self.per_hour else ""
        return (" and ".join(part for part in of_device if part) or "nothing") + price


class Waste(Struct, frozen=True, kw_only=True, rename="camel"):
    """Capacity that a workload's copies strand in the worst order of published devices.

    Attributes:
        copies: The copies that fit on the pools.
        stranded: What they strand.
        change: A change to the claim that strands less and makes no verdict worse; empty if none was found.
        after: What the copies strand after the change; None without a change.
    """

    copies: int
    stranded: Stranded
    change: str = ""
    after: Stranded | None = None

    @property
    def text(self) -> str:
        """The waste and the change as a sentence."""
        counted = "1 copy" if self.copies == 1 else f"{self.copies} copies"
        waste = f"first fit can strand {self.stranded.text} with {counted}"
        return waste if self.after is None else f"{waste}; to strand {self.after.text}, {self.change}"


def cost(
    claim: ClaimAsk,
    shape: NodeShape,
    chosen: Sequence[tuple[str, str, str]],
    left: frozenset[tuple[str, str]],
    shares: tuple[Shares, Shares] = ((), ()),
) -> CopyCost:
    """Return the cost of one copy on a node.

    Args:
        claim: What it requests.
        shape: The node.
        chosen: The devices that it gets: (request or request/alternative, driver, device).
        left: The matching devices that are free once the node is full of copies.
        shares: What is allocated of shared devices by one copy, and by all that the node takes.
    """
    return _cost(claim, shape.devices, tuple(chosen), left, shares)


@lru_cache(maxsize=4096)
def _cost(
    claim: ClaimAsk,
    published: tuple[NodeDevice, ...],
    chosen: tuple[tuple[str, str, str], ...],
    left: frozenset[tuple[str, str]],
    shares: tuple[Shares, Shares],
) -> CopyCost:
    devices = {device.key: device for device in published}
    of_one, of_all = (
        {(item.driver, item.device): dict(allocated) for item, allocated in part} for part in shares
    )
    allocated = [devices[driver, name] for _, driver, name in chosen]
    by_name = {ask.name: ask for ask in claim.asks}
    asks = [by_name[request] for request, _, _ in chosen]
    got = {name: _total([_allocated(device, name, of_one) for device in allocated]) for name in _NAMES}
    asked = {name: _total([_least(ask, name) for ask in asks]) for name in _NAMES}
    stranded = {name: _difference(got[name], asked[name]) for name in _NAMES}
    unused = {name: _total([_free(devices[key], name, of_all) for key in sorted(left)]) for name in _NAMES}
    return CopyCost(
        asked=_amounts(asked),
        got=_amounts(got),
        stranded=_amounts(stranded),
        left_on_node=_amounts(unused),
        parts=tuple(device.part for device in allocated if device.part),
    )


def _least(ask: Ask, name: str) -> Fraction | None:
    found = [_amount(amount) for key, amount in ask.parts if _is_named(key, name)]
    if not found:
        bounds = (bound for selector in ask.selectors for bound in asked(selector.expression).bounds)
        found = [_amount(bound.limit) for bound in bounds if bound.is_least and bound.identity == name]
    return max(found, default=None)


@lru_cache(maxsize=4096)
def _amount(text: str) -> Fraction:
    return Quantity.parse(text).amount


def _allocated(device: NodeDevice, name: str, shares: _Allocated) -> Fraction | None:
    if not device.seen.get("allowMultipleAllocations"):
        return capacity_of(device, name)
    parts = [Fraction(amount) for key, amount in shares.get(device.key, {}).items() if _is_named(key, name)]
    return parts[0] if parts else None


def _free(device: NodeDevice, name: str, shares: _Allocated) -> Fraction | None:
    return _difference(
        capacity_of(device, name), _allocated(device, name, shares) if device.key in shares else _NOTHING
    )


def capacity_of(device: NodeDevice, name: str) -> Fraction | None:
    """Return how much memory, in bytes, or how many multiprocessors a device has; None if unknown."""
    capacity = cast("Mapping[str, Any]", device.seen.get("capacity", {}))
    for key, entry in capacity.items():
        if _is_named(key, name):
            known = entry["value"] is not UNKNOWN and device.origins.get(key) != "unknown"
            return _amount(str(entry["value"])) if known else None
    if name == "multiprocessors" and device.multiprocessors is not None:
        return _amount(str(device.multiprocessors))
    return None


def _is_named(key: str, name: str) -> bool:
    return key.rpartition("/")[2] == name


def _total(values: Sequence[Fraction | None]) -> Fraction | None:
    known = [value for value in values if value is not None]
    return sum(known, start=_amount("0")) if len(known) == len(values) else None


def _difference(got: Fraction | None, asked: Fraction | None) -> Fraction | None:
    return None if got is None or asked is None else got - asked


def _amounts(values: Mapping[str, Fraction | None]) -> DeviceAmounts:
    memory, multiprocessors = values["memory"], values["multiprocessors"]
    return DeviceAmounts(
        memory=None if memory is None else mebibytes(int(memory / _MEBI)) if memory else "0",
        multiprocessors=None if multiprocessors is None else int(multiprocessors),
    )
