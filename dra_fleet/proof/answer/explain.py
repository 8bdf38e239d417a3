"""Which devices of a node a request matches, and why others do not: first false clause, value, fix."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

from dra_fleet.cel import UNKNOWN, CelInvalid, CelUnsupported, environment, judgeable_clauses
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.model.nodes import GIVE_SLICES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.nodes import Shape, ShapeDevice
    from dra_fleet.proof.demand.asks import Ask, Selector

Outcome = Literal["false", "error", "unknown"]

_AT_LEAST = re.compile(
    r"\.(?P<name>\w+)\s*\.\s*(?:compareTo\(\s*quantity\(\s*['\"](?P<limit>[^'\"]+)['\"]\s*\)\s*\)\s*(?P<sign>>=|<=|>|<)\s*0"
    r"|(?P<word>isGreaterThan|isLessThan)\(\s*quantity\(\s*['\"](?P<other>[^'\"]+)['\"]\s*\)\s*\))\s*$"
)
_DRIVER = re.compile(r"^device\.driver\s*==\s*['\"](?P<name>[^'\"]+)['\"]$")


@dataclass(frozen=True, kw_only=True)
class Miss:
    """The first clause that is not true on a device.

    Attributes:
        device: Which device.
        place: Where the selector stands.
        clause: The clause as written.
        outcome: What it is instead of true.
        message: Of the evaluator, for `error` and `unknown`.
        held: How many clauses before it are true.
    """

    device: ShapeDevice
    place: str
    clause: str
    outcome: Outcome
    message: str
    held: int


@dataclass(frozen=True, kw_only=True)
class Match:
    """What one request finds on a node.

    Attributes:
        certain: Names of devices that match whatever the unknown values are, as (driver, name).
        maybe: Those and the ones that hang on an unknown value.
        misses: One per device that does not match for certain.
    """

    certain: frozenset[tuple[str, str]]
    maybe: frozenset[tuple[str, str]]
    misses: tuple[Miss, ...]

    def first(self, outcome: Outcome) -> Miss | None:
        """The first miss of a kind."""
        return next((miss for miss in self.misses if miss.outcome == outcome), None)


def match(ask: Ask, shape: Shape, minor: str) -> Match:
    """What a request finds on a node whose devices are all free."""
    return _match(ask.selectors, shape.devices, minor)


@lru_cache(maxsize=4096)
def _match(selectors: tuple[Selector, ...], devices: tuple[ShapeDevice, ...], minor: str) -> Match:
    certain: set[tuple[str, str]] = set()
    maybe: set[tuple[str, str]] = set()
    misses: list[Miss] = []
    for device in devices:
        miss = _first_miss(selectors, device, minor)
        if miss is None:
            certain.add(device.key)
        else:
            misses.append(miss)
        if miss is None or miss.outcome == "unknown":
            maybe.add(device.key)
    return Match(certain=frozenset(certain), maybe=frozenset(maybe), misses=tuple(misses))


def _first_miss(selectors: Sequence[Selector], device: ShapeDevice, minor: str) -> Miss | None:
    cel = environment(minor)
    subject = device.subject
    held = 0
    for selector in selectors:
        try:
            whole = cel.compile(selector.expression).evaluate(subject)
        except (CelInvalid, CelUnsupported) as problem:
            return Miss(
                device=device,
                place=selector.place,
                clause=selector.expression,
                outcome="unknown",
                message=str(problem),
                held=held,
            )
        parts = judgeable_clauses(selector.expression, minor)
        if whole:
            held += max(1, len(parts))
            continue
        outcome = cast("Outcome", whole.outcome)
        clause, message = selector.expression, whole.message
        for part in parts:
            verdict = cel.compile(part).evaluate(subject)
            if verdict.outcome == whole.outcome:
                clause, message = part, verdict.message
                break
            held += 1
        return Miss(
            device=device, place=selector.place, clause=clause, outcome=outcome, message=message, held=held
        )
    return None


def nearest(misses: Sequence[Miss]) -> tuple[Miss, str]:
    """The miss with the most clauses true and what its device has; of amounts, the closest."""
    most = max(miss.held for miss in misses)
    near = [miss for miss in misses if miss.held == most]
    limit = _AT_LEAST.search(near[0].clause)
    amounts = [(_amount(miss, limit["name"]), miss) for miss in near] if limit else []
    known = [
        (amount, miss) for amount, miss in amounts if amount is not None and miss.clause == near[0].clause
    ]
    if limit is None or not known:
        return near[0], _value_named_in(near[0].clause, near[0].device)
    wants_more = _wants_more(limit)
    best = (max if wants_more else min)(known, key=lambda pair: pair[0].amount)
    which = "largest" if wants_more else "smallest"
    return best[1], f"the {which} device has {limit['name']} {best[0]}"


def sentence(ask: Ask, misses: Sequence[Miss], matched: int, total: int, where: str) -> tuple[str, str]:
    """Why a request matches too few devices of a pool, and the fix.

    Args:
        ask: The request.
        misses: Of the devices that do not match; at least one.
        matched: How many do.
        total: Devices that were looked at.
        where: For example "on each node of pool mig".
    """
    miss, value = nearest(misses)
    if miss.outcome == "error":
        text = (
            f"clause `{miss.clause}` of {miss.place} fails on device {miss.device.name} of driver "
            f"{miss.device.driver} {where} ({miss.message}), which stops scheduling on every node"
        )
        return text, "guard it with device.driver, has() or orValue()"
    told = f"; {value}" if value else ""
    text = (
        f"{ask.what} matches {matched} of {total} devices {where}: clause `{miss.clause}` of {miss.place} is "
        f"{miss.outcome} on the nearest one, {miss.device.name}{told}"
    )
    return text, _fix(miss, value)


def _fix(miss: Miss, value: str) -> str:
    if miss.outcome == "unknown":
        return f"do without it, or {GIVE_SLICES}"
    driver = _DRIVER.match(miss.clause)
    if driver:
        return f"install the driver that publishes {driver['name']}, or select {miss.device.driver}"
    limit = _AT_LEAST.search(miss.clause)
    if limit and value:
        amount = value.rpartition(" ")[2]
        bound = "at most" if _wants_more(limit) else "at least"
        return (
            f"ask for {limit['name']} of {bound} {amount}, or choose a machine or layout with other devices"
        )
    return "correct the clause, or choose a machine or layout whose devices have what it asks for"


def _wants_more(limit: re.Match[str]) -> bool:
    return (limit["sign"] or "").startswith(">") or limit["word"] == "isGreaterThan"


def _amount(miss: Miss, name: str) -> Quantity | None:
    capacity = cast("Mapping[str, Any]", miss.device.seen.get("capacity", {}))
    for key, entry in capacity.items():
        if key.rpartition("/")[2] == name and entry["value"] is not UNKNOWN:
            return Quantity.parse(str(entry["value"]))
    return None


def _value_named_in(clause: str, device: ShapeDevice) -> str:
    """What the device has for the attribute or capacity that a clause reads; may be empty."""
    values: dict[str, Any] = {**device.seen.get("attributes", {}), **device.seen.get("capacity", {})}
    if _DRIVER.match(clause):
        return f"its driver is {device.driver}"
    for key, entry in values.items():
        name = key.rpartition("/")[2]
        if re.search(rf"\b{re.escape(name)}\b", clause):
            value = next(iter(entry.values()))
            return (
                f"{name} is not known before the device exists" if value is UNKNOWN else f"{name} is {value}"
            )
    return ""
