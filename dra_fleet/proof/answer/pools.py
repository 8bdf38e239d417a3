"""Fit of one pod set alone on each pool: matching devices, copies, the nearest miss, the cost."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from dra_fleet.model.nodes import NOTHING
from dra_fleet.proof.answer.costs import CopyCost, Shares, cost
from dra_fleet.proof.answer.misses import why_unmatched
from dra_fleet.proof.answer.verdicts import PoolFit
from dra_fleet.proof.search import counting
from dra_fleet.proof.search.kinds import blocked
from dra_fleet.proof.search.packing import Packing, Undecidable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.model.nodes import NodeDevice, NodeGroup, NodeShape
    from dra_fleet.proof.demand.asks import Ask, ClaimAsk
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.proof.search.contention import Question
    from dra_fleet.proof.search.matching import Match
    from dra_fleet.proof.search.placements import Placements
    from dra_fleet.proof.search.suitability import Suitability

MOST_ON_NODE = 256
"""Copies of one pod that are counted on one node."""


class _KindFit(NamedTuple):
    """Fit of a pod set on a node of one kind."""

    requests: dict[str, int]
    per_node: int | None
    reason: str
    fix: str
    cost: CopyCost | None


_Filling = tuple[int | None, "CopyCost | None", str]
_known: WeakKeyDictionary[Placements, dict[tuple[object, ...], _Filling]] = WeakKeyDictionary()
"""Cache by cluster: equal claims fill nodes with the same devices and resources equally."""
_reasons: WeakKeyDictionary[ClaimAsk, dict[tuple[NodeDevice, ...], tuple[str, str]]] = WeakKeyDictionary()
"""Cache by claim: nodes with the same devices lack the same."""


def pool_fits(question: Question, pod_set: int) -> tuple[PoolFit, ...]:
    """Evaluate each pool for a pod set that has it to itself."""
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for number, group in enumerate(question.groups):
        numbers[group.pool].append(number)
    of_kind: dict[int, _KindFit] = {}
    return tuple(_pool_fit(question, pod_set, name, found, of_kind) for name, found in numbers.items())


def _pool_fit(
    question: Question, pod_set: int, pool: str, numbers: Sequence[int], of_kind: dict[int, _KindFit]
) -> PoolFit:
    found = [_group_fit(question, pod_set, number, of_kind) for number in numbers]
    first = found[0]
    if len(found) == 1:
        return first
    return PoolFit(
        pool=pool,
        requests=first.requests,
        devices=first.devices,
        per_node=min((fit.per_node for fit in found if fit.per_node is not None), default=None),
        at_min=_sum([fit.at_min for fit in found]),
        at_max=_sum([fit.at_max for fit in found]),
        reason=next((fit.reason for fit in found if fit.reason), ""),
        fix=next((fit.fix for fit in found if fit.fix), ""),
        cost=next((fit.cost for fit in found if fit.cost), None),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _group_fit(question: Question, pod_set: int, number: int, of_kind: dict[int, _KindFit]) -> PoolFit:
    group, kind = question.groups[number], question.kinds[number]
    if kind not in of_kind:
        of_kind[kind] = _kind_fit(question, pod_set, kind)
    reported = of_kind[kind]
    reason, fix, count = reported.reason, reported.fix, reported.per_node
    return PoolFit(
        pool=group.pool,
        requests=reported.requests,
        devices=len(group.shape.devices),
        per_node=count,
        at_min=None if count is None else count * group.least,
        at_max=None if count is None else count * group.most,
        reason=f"pool {group.pool}: {reason}" if reason else "",
        fix=fix,
        cost=reported.cost,
    )


def _kind_fit(question: Question, pod_set: int, number: int) -> _KindFit:
    group, found = question.groups[number], question.suitability[pod_set, number]
    count: int | None = None
    price: CopyCost | None = None
    reason, fix = "", ""
    if found.barrier:
        count, reason = 0, found.barrier
    elif found.doubt:
        reason = found.doubt
    elif found.error is not None:
        ask, miss = found.error
        reason, fix = why_unmatched(ask.what, [miss], 1, "of a node")
        count = 0
    else:
        count, price, reason = _filled(question, pod_set, group, found)
        if count == 0:
            claim, devices = question.pod_sets[pod_set].claim, group.shape.devices
            reasons = _reasons.setdefault(claim, {})
            if devices not in reasons:
                reasons[devices] = _why_not(claim.requests, found, group)
            reason, fix = reasons[devices]
    return _KindFit(
        requests={ask.name: len(one.certain) for choices in found.matches for ask, one in choices},
        per_node=count,
        reason=reason,
        fix=fix,
        cost=price,
    )


def _filled(question: Question, pod_set: int, group: NodeGroup, found: Suitability) -> _Filling:
    """Return how many copies fit on a node one after the other, the cost of one, and unknowns."""
    item, shape = question.pod_sets[pod_set], group.shape
    known = _known.setdefault(question.placements, {})
    fewest = item.claim.fewest
    most = len(found.maybe) // fewest if fewest and shape.is_simple else MOST_ON_NODE
    is_tight = not shape.sure_resources.holds(NOTHING.plus(item.resources, most))
    resources = (item.resources, shape.sure_resources) if is_tight else None
    key = (item.claim.likeness, shape.devices, resources)
    if key not in known:
        known[key] = _fill(question, item, shape, found, is_tight=is_tight)
    return known[key]


def _fill(
    question: Question, item: PodSet, shape: NodeShape, found: Suitability, *, is_tight: bool
) -> _Filling:
    packing = Packing([shape], [item], question.placements, counts_resources=[is_tight])
    node, count = packing.empty(0), 0
    chosen: tuple[tuple[str, str, str], ...] = ()
    of_one: Shares = ()
    try:
        anyhow = (
            None
            if counting.is_free_of_order(item, shape)
            else Packing([shape], [item], question.placements, counts_resources=[is_tight], in_any_order=True)
        )
        while count < MOST_ON_NODE:
            following = packing.place(0, node)
            if following is None:
                break
            count += 1
            if not chosen:
                chosen, of_one = packing.given(0, node), packing.nodes[following][1].in_use.shares
            if following == node:
                count = MOST_ON_NODE
            node = following
        fitting = (count, count) if anyhow is None else anyhow.copies_on_node(0, 0, MOST_ON_NODE)
    except Undecidable as problem:
        return None, None, str(problem)
    if fitting is None:
        return None, None, "in which order its devices are published decides how many copies a node takes"
    if not count:
        return 0, None, ""
    in_use = packing.nodes[node][1].in_use
    used = {(device.driver, device.device) for device in in_use.devices}
    unusable = blocked(shape.devices, shape.counters, used)
    left = found.certain - used - unusable
    return fitting[0], cost(item.claim, shape, chosen, left, (of_one, in_use.shares)), ""


def _why_not(requests: Sequence[Sequence[Ask]], found: Suitability, group: NodeGroup) -> tuple[str, str]:
    """Return the first request that a node cannot meet, with the nearest miss and the fix."""
    for choices in found.matches:
        short = [_too_few(ask, one, group.shape) for ask, one in choices]
        if short and all(reason for reason, _ in short):
            return short[0]
    if requests and not group.shape.devices:
        return "its nodes publish no devices", "choose a machine with devices, or install their driver"
    for choices in found.matches:
        missing = [_missing_part(ask, one, group.shape) for ask, one in choices]
        if missing and all(reason for reason, _ in missing):
            return missing[0]
    return (
        "enough devices match each request, but no choice meets all requests and constraints together",
        "ask for fewer devices, or loosen the constraints",
    )


def _missing_part(ask: Ask, one: Match, shape: NodeShape) -> tuple[str, str]:
    kept = [device for device in shape.devices if device.key in one.certain]
    published = {key for device in kept for key in device.placed.get("capacity", {})}
    for name, _ in ask.parts:
        if kept and name not in published:
            identity = name.rpartition("/")[2]
            meant = next((key for key in sorted(published) if key.rpartition("/")[2] == identity), "")
            reason = (
                f"{ask.what} requests a part of {name}, which none of its {len(kept)} matching devices has: "
                f"the allocator compares capacity keys literally, and they have "
                f"{', '.join(sorted(published)) or 'none'}"
            )
            return reason, f"write {meant}" if meant else "remove capacity, or select devices that have it"
    return "", ""


def _too_few(ask: Ask, one: Match, shape: NodeShape) -> tuple[str, str]:
    if not shape.devices:
        return "its nodes publish no devices", "choose a machine with devices, or install their driver"
    if len(one.certain) >= max(1, ask.count):
        return "", ""
    total, matched = len(shape.devices), len(one.certain)
    if not matched:
        return why_unmatched(ask.what, one.misses, total, "of a node")
    return (
        f"{ask.what} requests {ask.count} devices of one node, and {matched} of its {total} match",
        f"request at most {matched}, or choose a machine with more of them",
    )
