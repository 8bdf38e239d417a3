"""Why a request matches too few devices: of the nearest one the clause, its value, and what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.cel import UNKNOWN
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.model.nodes import GIVE_SLICES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.nodes import ShapeDevice
    from dra_fleet.proof.demand.asks import Ask
    from dra_fleet.proof.search.matching import Miss

_AT_LEAST = re.compile(
    r"\.(?P<name>\w+)\s*\.\s*(?:compareTo\(\s*quantity\(\s*['\"](?P<limit>[^'\"]+)['\"]\s*\)\s*\)\s*(?P<sign>>=|<=|>|<)\s*0"
    r"|(?P<word>isGreaterThan|isLessThan)\(\s*quantity\(\s*['\"](?P<other>[^'\"]+)['\"]\s*\)\s*\))\s*$"
)
_DRIVER = re.compile(r"^device\.driver\s*==\s*['\"](?P<name>[^'\"]+)['\"]$")


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


def why_too_few(ask: Ask, misses: Sequence[Miss], matched: int, total: int, where: str) -> tuple[str, str]:
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
