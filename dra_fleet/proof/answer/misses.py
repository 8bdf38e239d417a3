"""Reasons why a request matches too few devices: clause and value of the nearest device, and the fix."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dra_fleet.kubernetes.cel import ONE_OF, UNKNOWN, asked, semver
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.model.nodes import GIVE_SLICES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.kubernetes.cel.intent import Bound
    from dra_fleet.model.nodes import NodeDevice
    from dra_fleet.proof.answer.verdicts import PoolFit
    from dra_fleet.proof.search.matching import Miss


MOST_POOLS = 12
"""Pools of which a reason is reported; each of hundreds has the like."""
_CORRECT = "correct the clause, or choose a machine or layout whose devices have what it requests"


class _Ordered(NamedTuple):
    """A device's value of a bounded clause, with the words for most and least."""

    order: tuple[Any, ...]
    text: str
    most: str
    least: str


def nearest(misses: Sequence[Miss]) -> tuple[Miss, str]:
    """Return the miss with the most true clauses and the device's value; for amounts, the closest."""
    most = max(miss.in_use for miss in misses)
    near = [miss for miss in misses if miss.in_use == most]
    bound = _bound(near[0].clause)
    alike = [miss for miss in near if miss.clause == near[0].clause] if bound else []
    amounts = [(_amount(miss, bound.identity), miss) for miss in alike] if bound else []
    known = [(amount, miss) for amount, miss in amounts if amount is not None]
    if bound is None or not known:
        return near[0], _value_read(near[0].clause, near[0].device)
    best = (max if bound.is_least else min)(known, key=lambda pair: pair[0].order)
    which = best[0].most if bound.is_least else best[0].least
    return best[1], f"the {which} device has {bound.identity} {best[0].text}"


def _other_map(miss: Miss) -> str:
    """Return the fix for a capacity that a clause reads as an attribute, or ""."""
    key = miss.message.removeprefix("no such key: ")
    for domain, capacities in miss.device.subject.capacity.items():
        if key in capacities and "attributes" in miss.clause:
            return (
                f"{key} is a capacity: write "
                f"device.capacity['{domain}'].{key}.compareTo(quantity('20Gi')) >= 0"
            )
    return ""


def why_unmatched(
    subject: str, misses: Sequence[Miss], total: int, where: str, *, with_place: bool = True
) -> tuple[str, str]:
    """Return why a request or class matches no device of a pool, and the fix.

    Args:
        subject: the request or class.
        misses: one for each device; at least one.
        total: number of devices.
        where: for example "of a node of pool mig".
        with_place: name the class or request, and the number, of the selector.
    """
    miss, value = nearest(misses)
    if miss.outcome == "error":
        text = (
            f"clause `{miss.clause}` of {miss.place} fails on device {miss.device.name} of driver "
            f"{miss.device.driver} {where} ({miss.message}), which stops scheduling on every node"
        )
        return text, _other_map(miss) or "guard it with device.driver, has() or orValue()"
    place = f" ({miss.place})" if with_place else ""
    best = f"; {value}" if value else ""
    text = (
        f"{subject} matches 0 of {total} devices {where}: `{miss.clause}`{place} is {miss.outcome} on the "
        f"nearest device, {miss.device.name}{best}"
    )
    return text, _fix(miss, value)


def _fix(miss: Miss, value: str) -> str:
    if miss.outcome == "unknown":
        return f"remove the clause, or {GIVE_SLICES}"
    driver = asked(miss.clause).only_driver
    if driver:
        return f"install the driver that publishes {driver}, or select {miss.device.driver}"
    bound = _bound(miss.clause)
    if bound is not None and value:
        amount, way = value.rpartition(" ")[2], "at most" if bound.is_least else "at least"
        return f"ask for {bound.identity} of {way} {amount}, or choose a machine or layout with other devices"
    return _CORRECT


def fix_of(pools: Sequence[PoolFit]) -> str:
    """Return the fix if no pool takes a copy: for the pool where most devices match, and by a value."""
    return max(pools, key=lambda pool: (sum(pool.requests.values()), pool.fix not in ("", _CORRECT))).fix


def reasons_of(pools: Sequence[PoolFit]) -> str:
    """Return why no pool takes a copy; of many pools the first are reported."""
    rest = len(pools) - MOST_POOLS
    reported = [pool.reason for pool in pools[:MOST_POOLS]]
    return "; ".join([*reported, f"and {rest} more pools"] if rest > 0 else reported)


def _bound(clause: str) -> Bound | None:
    bounds = (*asked(clause).bounds, *asked(clause).versions)
    return bounds[0] if len(bounds) == 1 else None


def _amount(miss: Miss, name: str) -> _Ordered | None:
    attributes = cast("Mapping[str, Any]", miss.device.seen.get("attributes", {}))
    for key, entry in attributes.items():
        version = entry.get("version", UNKNOWN)
        if key.rpartition("/")[2] == name and version is not UNKNOWN:
            return _Ordered(semver.parse(version).order, version, "newest", "oldest")
    capacity = cast("Mapping[str, Any]", miss.device.seen.get("capacity", {}))
    for key, entry in capacity.items():
        if key.rpartition("/")[2] == name and entry["value"] is not UNKNOWN:
            return _least(tuple(map(str, entry.get(ONE_OF, (entry["value"],)))))
    return None


@lru_cache(maxsize=1024)
def _least(quantities: tuple[str, ...]) -> _Ordered:
    amount = min(map(Quantity.parse, quantities), key=lambda quantity: quantity.amount)
    return _Ordered((amount.amount,), str(amount), "largest", "smallest")


def _value_read(clause: str, device: NodeDevice) -> str:
    values: dict[str, Any] = {**device.seen.get("attributes", {}), **device.seen.get("capacity", {})}
    asks = asked(clause)
    if asks.only_driver:
        return f"its driver is {device.driver}"
    for key, entry in values.items():
        name = key.rpartition("/")[2]
        if asks.reads(name):
            value = next(iter(entry.values()))
            reported = " or ".join(map(str, entry.get(ONE_OF, (value,))))
            return (
                f"{name} is not known before the device exists"
                if value is UNKNOWN
                else f"{name} is {reported}"
            )
    return ""
