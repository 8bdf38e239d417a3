"""Fit and cost of one pod set on each pool, and what the scheduler's first fit strands there."""

from __future__ import annotations

from collections import defaultdict
from copy import deepcopy
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.model.nodes import NOTHING
from dra_fleet.model.specs import mebibytes
from dra_fleet.proof.allocator import Steps
from dra_fleet.proof.answer.costs import CopyCost, DeviceAmounts, Shares, Stranded, Waste, capacity_of, cost
from dra_fleet.proof.answer.messages import NO_DEVICES, why_unmatched
from dra_fleet.proof.answer.verdicts import PoolFit
from dra_fleet.proof.demand.asks import ask_of
from dra_fleet.proof.report import Undecidable
from dra_fleet.proof.search import counting
from dra_fleet.proof.search.packing import NodeUse, Packing, blocked
from dra_fleet.proof.search.placements import Placements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dra_fleet.model.nodes import NodeDevice, NodeGroup, NodeShape
    from dra_fleet.model.plan import PoolPlan
    from dra_fleet.proof.demand.asks import Ask, ClaimAsk, Object
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.proof.search.contention import Question
    from dra_fleet.proof.search.suitability import Match, Suitability


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
                reasons[devices] = _why_not(claim, found, group)
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


def _why_not(claim: ClaimAsk, found: Suitability, group: NodeGroup) -> tuple[str, str]:
    """Return the first request that a node cannot meet, with the nearest miss and the fix."""
    for choices in found.matches:
        short = [_too_few(ask, one, group.shape) for ask, one in choices]
        if short and all(reason for reason, _ in short):
            return short[0]
    if claim.requests and not group.shape.devices:
        return "its nodes publish no devices", NO_DEVICES
    for choices in found.matches:
        missing = [_missing_part(ask, one, group.shape) for ask, one in choices]
        if missing and all(reason for reason, _ in missing):
            return missing[0]
    return _missing_attribute(claim, group.shape) or (
        "enough devices match each request, but no choice meets all requests and constraints together",
        "ask for fewer devices, or loosen the constraints",
    )


def _missing_attribute(claim: ClaimAsk, shape: NodeShape) -> tuple[str, str] | None:
    """Return the first attribute of a constraint that no device has, with the fix."""
    from dra_fleet.core.findings.errors import mistyped  # noqa: PLC0415 - only after a mistake

    for named in (constraint.get("matchAttribute", "") for constraint in claim.constraints):
        domain, _, short = named.partition("/")
        if named and not any(
            named in (attributes := device.seen.get("attributes", {}))
            or (device.driver == domain and short in attributes)
            for device in shape.devices
        ):
            published = {
                key if "/" in key else f"{device.driver}/{key}"
                for device in shape.devices
                for key in device.seen.get("attributes", {})
            }
            fix = mistyped(named, published) or "remove the constraint"
            return f"no device has attribute {named}, which a constraint requires", fix
    return None


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
        return "its nodes publish no devices", NO_DEVICES
    if len(one.certain) >= max(1, ask.count):
        return "", ""
    total, matched = len(shape.devices), len(one.certain)
    if not matched:
        return why_unmatched(ask.what, one.misses, total, "of a node")
    return (
        f"{ask.what} requests {ask.count} devices of one node, and {matched} of its {total} match",
        f"request at most {matched}, or choose a machine with more of them",
    )


MOST_SIZES = 4
"""Bounds on memory that are tried for a request, the smallest device's first."""
STEPS_OF_WASTE = 30_000
"""Steps of the allocator for the waste of one cluster's workloads."""
_MEBI = 2**20


class _Placed(NamedTuple):
    """Copies on nodes, with what they strand: exact amounts, and USD per hour."""

    copies: int
    memory: Fraction | None
    multiprocessors: int | None
    per_hour: Fraction | None

    @property
    def strands(self) -> bool:
        return bool(self.memory or self.multiprocessors)

    @property
    def stranded(self) -> Stranded:
        memory = None if self.memory is None else mebibytes(int(self.memory)) if self.memory else "0"
        return Stranded(
            amounts=DeviceAmounts(memory=memory, multiprocessors=self.multiprocessors),
            per_hour=None if self.per_hour is None else round(float(self.per_hour), 4),
        )


def wastes(
    question: Question,
    fits: Sequence[Sequence[PoolFit]],
    pools: Mapping[str, PoolPlan],
    is_as_good: Callable[[Question], bool],
) -> dict[int, Waste]:
    """Return by pod set what it strands, without the pod sets that strand nothing.

    Args:
        question: The nodes and the pod sets.
        fits: Per pod set what each pool gives it alone.
        pools: The pools by name.
        is_as_good: True if no verdict of a question with changed claims is worse than today's.
    """
    classes, minor = question.placements.classes, question.placements.minor
    spare = replace(question, placements=Placements(classes, minor, Steps(STEPS_OF_WASTE)))
    found: dict[int, Waste] = {}
    for pod_set, of_pools in enumerate(fits):
        asked = [fit.cost.asked for fit in of_pools if fit.cost is not None]
        if not any(amounts.memory or amounts.multiprocessors for amounts in asked):
            continue
        try:
            placed = _placed(spare, pod_set, of_pools, pools)
            if placed.strands:
                found[pod_set] = Waste(copies=placed.copies, stranded=placed.stranded)
                better = _better(spare, pod_set, pools, placed, is_as_good)
                if better is not None:
                    change, after = better
                    found[pod_set] = replace(found[pod_set], change=change, after=after.stranded)
        except Undecidable:
            continue
    return found


def _placed(
    question: Question, pod_set: int, fits: Sequence[PoolFit], pools: Mapping[str, PoolPlan]
) -> _Placed:
    """Place copies on the most wasteful nodes first, which the scheduler may do."""
    item = question.pod_sets[pod_set]
    per_node = {fit.pool: fit.per_node or 0 for fit in fits}
    filled: list[tuple[int, list[_Placed]]] = []
    for group in question.groups:
        if per_node[group.pool]:
            price = _price_of_memory(group.shape, pools.get(group.pool))
            copies = _stranded_by_copies(
                question, item.claim, group.shape, min(per_node[group.pool], item.copies), price
            )
            filled.append((group.most, copies))
    filled.sort(key=lambda pair: -(pair[1][0].memory or 0) if pair[1] else 0)
    placed = [one for nodes, copies in filled for _ in range(nodes) for one in copies][: item.copies]
    return _Placed(
        len(placed),
        _sum_of_numbers([one.memory for one in placed]),
        _sum_of_numbers([one.multiprocessors for one in placed]),
        _sum_of_numbers([one.per_hour for one in placed]),
    )


def _stranded_by_copies(
    question: Question, claim: ClaimAsk, shape: NodeShape, copies: int, price: Fraction | None
) -> list[_Placed]:
    """Return what each copy strands on an empty node whose drivers publish the largest devices first."""
    shape = replace(shape, devices=_largest_first(shape))
    in_use, found = NodeUse(), list[_Placed]()
    for _ in range(copies):
        placed = question.placements.place(claim, shape, in_use)
        if placed is None:
            break
        shares = _consumed(in_use, placed.in_use)
        stranded = cost(claim, shape, placed.given, frozenset(), (shares, shares)).stranded
        memory = None if stranded.memory is None else Quantity.parse(stranded.memory).amount / _MEBI
        per_hour = None if memory is None or price is None else memory * price
        found.append(_Placed(1, memory, stranded.multiprocessors, per_hour))
        in_use = placed.in_use
    return found


def _largest_first(shape: NodeShape) -> tuple[NodeDevice, ...]:
    """Devices with the largest first, of drivers that can publish them in any order; slices stay whole."""
    memory = {device.key: capacity_of(device, "memory") or Fraction(0) for device in shape.devices}
    of_slice: dict[tuple[str, str], Fraction] = {}
    for device in shape.devices:
        key = (device.driver, device.group)
        of_slice[key] = max(of_slice.get(key, Fraction(0)), memory[device.key])

    def rank(device: NodeDevice) -> tuple[Any, ...]:
        if device.driver in shape.in_order:
            return (device.driver,)
        return (device.driver, -of_slice[device.driver, device.group], device.group, -memory[device.key])

    return tuple(sorted(shape.devices, key=rank))


def _consumed(before: NodeUse, after: NodeUse) -> Shares:
    had = {device: dict(parts) for device, parts in before.shares}
    return tuple(
        (device, tuple((name, part - had.get(device, {}).get(name, 0)) for name, part in parts))
        for device, parts in after.shares
        if dict(parts) != had.get(device)
    )


def _price_of_memory(shape: NodeShape, pool: PoolPlan | None) -> Fraction | None:
    """Return USD per hour of one MiB; partitions of one GPU count once."""
    of_source: dict[object, Fraction] = {}
    for device in shape.devices:
        memory = capacity_of(device, "memory")
        if memory is not None:
            source = next(
                (entry["counterSet"] for entry in device.placed.get("consumesCounters", ())), device.key
            )
            of_source[source] = max(of_source.get(source, Fraction(0)), memory / _MEBI)
    if pool is None or pool.machine.price is None or not any(of_source.values()):
        return None
    return Fraction(pool.machine.price.per_hour) / sum(of_source.values())


def _better(
    question: Question,
    pod_set: int,
    pools: Mapping[str, PoolPlan],
    placed: _Placed,
    is_as_good: Callable[[Question], bool],
) -> tuple[str, _Placed] | None:
    """Return the change that strands least, request by request, with what copies then strand."""
    changes: list[str] = []
    best = placed
    for number in range(len(question.pod_sets[pod_set].claim.requests)):
        for change, body in _changed(question, pod_set, number):
            changed = _with_claim(question, pod_set, body)
            after = _placed_as_well(changed, pod_set, pools, best, is_as_good)
            if after is not None:
                changes.append(change)
                question, best = changed, after
                break
    return (" and ".join(changes), best) if changes else None


def _placed_as_well(
    changed: Question,
    pod_set: int,
    pools: Mapping[str, PoolPlan],
    before: _Placed,
    is_as_good: Callable[[Question], bool],
) -> _Placed | None:
    """Return what copies strand after a change; None if it is not less, or if a verdict is worse."""
    try:
        after = _placed(changed, pod_set, pool_fits(changed, pod_set), pools)
        wasted = [(one.memory or 0, one.multiprocessors or 0) for one in (after, before)]
        good = wasted[0] < wasted[1] and after.copies >= before.copies and is_as_good(changed)
    except Undecidable:
        return None
    return after if good else None


def _changed(question: Question, pod_set: int, number: int) -> Iterator[tuple[str, Object]]:
    """Yield changes to one request, with the claim's body: its alternatives by size, then bounds."""
    claim = question.pod_sets[pod_set].claim
    choices = claim.requests[number]
    sizes = [_sizes(question, pod_set, number, place) for place in range(len(choices))]
    order = sorted(range(len(choices)), key=lambda place: (min(sizes[place], default=0), place))
    if order != sorted(order) and all(sizes):
        names = [choices[place].name.partition("/")[2] for place in order]
        body = deepcopy(claim.body)
        request = body["spec"]["devices"]["requests"][number]
        request["firstAvailable"] = [request["firstAvailable"][place] for place in order]
        yield f"in request {request['name']} write the alternatives in the order {', '.join(names)}", body
    for place, ask in enumerate(choices):
        for size in sorted(sizes[place])[: min(MOST_SIZES, len(sizes[place]) - 1)]:
            most = mebibytes(int(size / _MEBI))
            selector = f"{_memory_of(question, ask)}.compareTo(quantity('{most}')) <= 0"
            body = deepcopy(claim.body)
            request = body["spec"]["devices"]["requests"][number]
            request = request["exactly"] if "exactly" in request else request["firstAvailable"][place]
            request.setdefault("selectors", []).append({"cel": {"expression": selector}})
            yield f"add the selector `{selector}` to request {ask.name}", body


def _sizes(question: Question, pod_set: int, number: int, place: int) -> set[Fraction]:
    """Return the memory of devices that match a request or alternative, on all nodes."""
    return {
        memory
        for index, group in enumerate(question.groups)
        if (found := question.suitability[pod_set, index]).matches
        for device in group.shape.devices
        if device.key in found.matches[number][place][1].certain
        and (memory := capacity_of(device, "memory")) is not None
    }


def _memory_of(question: Question, ask: Ask) -> str:
    key, driver = next(
        (key, device.driver)
        for group in question.groups
        for device in group.shape.devices
        if device.driver in (ask.drivers or (device.driver,))
        for key in device.placed.get("capacity", {})
        if key.rpartition("/")[2] == "memory"
    )
    return f"device.capacity['{key.rpartition('/')[0] or driver}'].memory"


def _with_claim(question: Question, pod_set: int, body: Object) -> Question:
    before = question.pod_sets[pod_set].claim
    claim = ask_of(before.name, body["spec"], question.placements.classes)
    return question.changed(
        {
            number: replace(item, claim=claim)
            for number, item in enumerate(question.pod_sets)
            if item.claim is before
        }
    )


def _sum_of_numbers(values: Sequence[Any]) -> Any:  # noqa: ANN401 - numbers of one type
    return None if None in values else sum(values)
