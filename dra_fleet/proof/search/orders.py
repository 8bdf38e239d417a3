"""Orders of arrival: every state of the nodes, whichever pod is next, wherever it is placed.

The scheduler scores nodes; here any node that fits may be chosen, so that nothing depends on the scores.
Pods come and stay; none of them ends. The scheduler places the pods of a gang one after the other, without
another pod between them, and never reconsiders an earlier choice: if one finds no node, it places none.
Source: https://github.com/kubernetes/kubernetes/blob/v1.37.2/pkg/scheduler/schedule_one_podgroup.go
"""

from __future__ import annotations

import random
from bisect import bisect
from collections import Counter, deque
from math import prod
from typing import TYPE_CHECKING

from msgspec import Struct, field

from dra_fleet.proof.report import Undecidable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.proof.search.packing import Packing

MOST_STATES = 6_000
"""States of a set of nodes that are visited before the search gives up being exhaustive."""
MOST_MIXES = 100_000
"""Ways to have placed some pods of each pod set; beyond it being exhaustive is not even tried."""
MOST_QUESTIONS = 3_000
"""Questions to the allocator before it does."""
LOOKED_AT = 8
"""Nodes that are looked at in as long as a step takes."""
SAMPLED_PODS = 20_000
"""Pods that are put down, all sampled orders together."""
SEED = 20_261_121

TOO_MANY_FOR_GANGS = "there are too many orders of arrival to follow all, and gangs are not sampled"

State = tuple[tuple[tuple[int, int], ...], tuple[int, ...]]
Step = tuple[int, int, int]
"""A pod set and the id of its node, before and after it is placed."""


class TriedOrders(Struct, kw_only=True):
    """Result of the orders that were tried.

    Attributes:
        exhausted: Whether these are all there are.
        states: How many states were visited, or how many orders sampled.
        waits: Per pod set the shortest order found after which one of its pods has no node.
        completes: Whether some order places all pods, and of each gang as many as it needs.
        placed: The pod sets of which some order places as many.
    """

    exhausted: bool
    states: int
    waits: dict[int, tuple[Step, ...]] = field(default_factory=dict[int, tuple[Step, ...]])
    completes: bool = False
    placed: set[int] = field(default_factory=set[int])


def explore(
    packing: Packing, nodes: Counter[int], copies: Sequence[int], gangs: Sequence[int] = ()
) -> TriedOrders:
    """All orders, breadth first; a sample of them where there are too many.

    Args:
        packing: Places pods.
        nodes: How many nodes there are of each id.
        copies: Pods per pod set.
        gangs: Per pod set how many of them the scheduler places together, 0 for none; empty without gangs.

    Raises:
        Undecidable: It is unknown, or takes more steps than the proof has left.
    """
    if prod(count + 1 for count in copies) <= MOST_MIXES:
        found = _exhaust(packing, nodes, copies, gangs or [0] * len(copies))
        if found.exhausted:
            return found
    if any(gangs):
        raise Undecidable(TOO_MANY_FOR_GANGS)
    return _sample(packing, nodes, copies)


def _exhaust(
    packing: Packing, nodes: Counter[int], copies: Sequence[int], gangs: Sequence[int]
) -> TriedOrders:
    needed = [gang or count for gang, count in zip(gangs, copies, strict=True)]
    first: State = (_key(nodes), tuple(copies))
    parents: dict[State, tuple[State, Step] | None] = {first: None}
    queue = deque([first])
    found = TriedOrders(exhausted=True, states=0)
    while queue:
        state = queue.popleft()
        found.states += 1
        if found.states > MOST_STATES or packing.questions > MOST_QUESTIONS or not packing.is_exhaustive:
            found.exhausted = False
            return found
        placed = [count - left for count, left in zip(copies, state[1], strict=True)]
        short = {pod_set for pod_set, least in enumerate(needed) if placed[pod_set] < least}
        begun = [pod_set for pod_set in short if gangs[pod_set] and placed[pod_set]]
        if not begun:
            found.placed |= set(range(len(copies))) - short
            found.completes = found.completes or not short
        packing.spend(len(state[0]) * len(copies))
        for pod_set in begun or range(len(copies)):
            following = _following(packing, state, pod_set)
            if not following and pod_set in short and pod_set not in found.waits:
                found.waits[pod_set] = _path(parents, state)
            for one, step in following:
                if one not in parents:
                    parents[one] = (state, step)
                    queue.append(one)
    found.exhausted = packing.is_exhaustive
    return found


def _following(packing: Packing, state: State, pod_set: int) -> list[tuple[State, Step]]:
    """Return the states after one more pod of a pod set; none where no node takes it or none is left."""
    nodes, left = state
    if not left[pod_set]:
        return []
    fewer = (*left[:pod_set], left[pod_set] - 1, *left[pod_set + 1 :])
    steps: list[tuple[State, Step]] = []
    for node, _ in nodes:
        for after in packing.choices(pod_set, node):
            changed = Counter(dict(nodes))
            changed[node] -= 1
            changed[after] += 1
            steps.append(((_key(changed), fewer), (pod_set, node, after)))
    return steps


def _path(parents: dict[State, tuple[State, Step] | None], state: State) -> tuple[Step, ...]:
    steps: list[Step] = []
    here = parents[state]
    while here is not None:
        before, step = here
        steps.append(step)
        here = parents[before]
    return tuple(reversed(steps))


def _key(nodes: Counter[int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((node, count) for node, count in nodes.items() if count))


def _sample(packing: Packing, nodes: Counter[int], copies: Sequence[int]) -> TriedOrders:
    chance = random.Random(SEED)  # noqa: S311 - reproducible, not secret
    found = TriedOrders(exhausted=False, states=0)
    pods = max(1, sum(copies))
    for order, policy in _orders(copies, chance, tries=max(4, SAMPLED_PODS // pods)):
        found.states += 1
        _play(packing, Counter(nodes), order, policy, chance=chance, found=found)
    for pod_set in set(range(len(copies))) - found.placed:
        first = TriedOrders(exhausted=False, states=0)
        own = [pod_set] * copies[pod_set]
        _play(packing, Counter(nodes), own, "pack", chance=chance, found=first)
        found.placed |= first.placed
    return found


def _orders(copies: Sequence[int], chance: random.Random, tries: int) -> list[tuple[list[int], str]]:
    """Each pod set last and first, in turns with spread and packed nodes; then shuffled ones."""
    pod_sets = range(len(copies))
    ends = [("last", "spread"), ("last", "pack"), ("first", "pack")]
    turns = [(pod_set, place, policy) for pod_set in pod_sets for place, policy in ends]
    chance.shuffle(turns)
    orders: list[tuple[list[int], str]] = []
    for one, place, policy in turns[:tries]:
        rest = [pod_set for pod_set in pod_sets for _ in range(copies[pod_set]) if pod_set != one]
        own = [one] * copies[one]
        orders.append(([*rest, *own] if place == "last" else [*own, *rest], policy))
    everything = [pod_set for pod_set in pod_sets for _ in range(copies[pod_set])]
    while len(orders) < tries:
        shuffled = everything.copy()
        chance.shuffle(shuffled)
        orders.append((shuffled, chance.choice(["spread", "pack", "any"])))
    return orders


def _play(
    packing: Packing,
    nodes: Counter[int],
    order: Sequence[int],
    policy: str,
    *,
    chance: random.Random,
    found: TriedOrders,
) -> None:
    steps: list[Step] = []
    full: set[int] = set()
    ranks: dict[int, tuple[int, int]] = {}

    def rank(node: int) -> tuple[int, int]:
        if node not in ranks:
            ranks[node] = _rank(packing, node, policy)
        return ranks[node]

    ranked = sorted(nodes, key=rank)
    # Of equal pods in succession, none is placed where the one before did not fit.
    before, start = -1, 0
    for pod_set in order:
        if pod_set in full:
            continue
        packing.spend(1 + len(ranked) // LOOKED_AT)
        start = start if pod_set == before else 0
        place = _choose(packing, pod_set, ranked, start, chance if policy == "any" else None)
        before = pod_set
        if place is None:
            full.add(pod_set)
            if pod_set not in found.waits or len(steps) < len(found.waits[pod_set]):
                found.waits[pod_set] = tuple(steps)
            continue
        node = ranked[place]
        after, *others = packing.choices(pod_set, node)
        if others:
            after = chance.choice((after, *others))
        start = place if policy != "any" else 0
        nodes[node] -= 1
        if not nodes[node]:
            del ranked[place]
        if not nodes[after]:
            where = bisect(ranked, rank(after), key=rank)
            ranked.insert(where, after)
            start = min(start, where)
        nodes[after] += 1
        steps.append((pod_set, node, after))
    found.completes = found.completes or not full
    found.placed |= set(order) - full


def _rank(packing: Packing, node: int, policy: str) -> tuple[int, int]:
    used = len(packing.nodes[node][1].in_use.devices)
    return {"spread": used, "pack": -used, "any": 0}[policy], node


def _choose(
    packing: Packing, pod_set: int, ranked: Sequence[int], start: int, chance: random.Random | None
) -> int | None:
    """Return the first node from `start` on that takes a pod, or, by chance, any other that does."""
    places = range(start, len(ranked))
    if chance is None:
        for place in places:
            if packing.choices(pod_set, ranked[place]):
                return place
        return None
    options = [place for place in places if packing.choices(pod_set, ranked[place])]
    return chance.choice(options) if options else None
