"""Do all pods find devices, in every order of arrival? `guaranteed`, `possible`, `never` or `unknown`.

The rules, in this order; the first that tells is named in the answer:
counting (search/counting.py: sound); alike pods (nobody else can hold their devices: exact); every order of
arrival (search/orders.py: exact up to a number of states); a sample of orders, which guarantees nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dra_fleet.model.published import MAX_DEVICES
from dra_fleet.proof.demand.asks import drivers_of
from dra_fleet.proof.search import counting
from dra_fleet.proof.search.counting import Crowd
from dra_fleet.proof.search.orders import Findings, explore
from dra_fleet.proof.search.packing import EMPTY, Packing, Undecidable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.proof.demand.pods import Unit, View
    from dra_fleet.proof.search.placements import Placements

_RANDOM_POOLS = ("1.34", "1.35")

Word = Literal["guaranteed", "possible", "never", "unknown", "error"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The verdict on a unit.

    Attributes:
        word: The verdict.
        reason: The rule that tells, or why nothing does.
        order: For `possible`: an order of arrival after which a pod waits, one line per run of pods.
    """

    word: Word
    reason: str
    order: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """What is asked: which units, on which nodes, what these mean to each, and what becomes of nodes."""

    units: Sequence[Unit]
    groups: Sequence[NodeGroup]
    views: Mapping[tuple[int, int], View]
    placements: Placements


def judge(question: Question, counts: Sequence[int]) -> dict[int, Answer]:
    """The verdict on each unit with so many nodes of each group."""
    answers: dict[int, Answer] = {}
    for members in _connected(question, counts):
        crowd = _crowd(question, members, counts)
        for number, answer in _judge_crowd(question, crowd).items():
            answers[members[number]] = answer
    return answers


def _crowd(question: Question, members: Sequence[int], counts: Sequence[int]) -> Crowd:
    units = [question.units[unit] for unit in members]
    views = {
        (number, group): question.views[unit, group]
        for number, unit in enumerate(members)
        for group in range(len(question.groups))
    }
    return Crowd(
        units=units,
        groups=question.groups,
        counts=counts,
        views=views,
        is_tight=[_is_tight(units, views, question, group) for group in range(len(question.groups))],
    )


def _is_tight(
    units: Sequence[Unit], views: Mapping[tuple[int, int], View], question: Question, group: int
) -> bool:
    """Whether CPU, memory or pods of a node may run out before its devices do."""
    taken = EMPTY
    for number, unit in enumerate(units):
        usable = len(views[number, group].maybe)
        fewest = unit.claim.fewest
        most = unit.copies if not fewest else min(unit.copies, usable // fewest)
        taken = taken.plus(unit.room, most)
    return not question.groups[group].shape.sure_room.holds(taken)


def _connected(question: Question, counts: Sequence[int]) -> list[list[int]]:
    """Units that may be in each other's way, directly or through others."""
    everybody = range(len(question.units))
    tight = [_is_tight(question.units, question.views, question, group) for group in range(len(counts))]
    clusters: list[list[int]] = []
    for unit in everybody:
        touching = [
            known
            for known in clusters
            if any(_meet(question, (unit, other), counts, tight) for other in known)
        ]
        clusters = [known for known in clusters if known not in touching]
        clusters.append(sorted([unit, *(member for known in touching for member in known)]))
    return clusters


def _meet(question: Question, pair: tuple[int, int], counts: Sequence[int], tight: Sequence[bool]) -> bool:
    """Whether two units may want the same device, or the same room on a node that may run out of it."""
    for group, nodes in enumerate(counts):
        one, other = (_reach(question.views[unit, group], question.groups[group]) for unit in pair)
        if nodes and ((tight[group] and one and other) or one & other):
            return True
    return False


def _reach(found: View, group: NodeGroup) -> frozenset[tuple[str, str]]:
    """The devices that a unit may want, and the counters from which these are taken."""
    if not group.shape.counters:
        return found.maybe
    return found.maybe | {
        (device.driver, entry["counterSet"])
        for device in group.shape.devices
        if device.key in found.maybe
        for entry in device.placed.get("consumesCounters", ())
    }


def _judge_crowd(question: Question, crowd: Crowd) -> dict[int, Answer]:
    doubts = {unit: _doubt(crowd, unit, question.placements.minor) for unit in range(len(crowd.units))}
    answers: dict[int, Answer] = {}
    for unit in range(len(crowd.units)):
        reason = counting.enough(crowd, unit)
        if reason:
            answers[unit] = Answer(word="guaranteed", reason=f"by counting: {reason}")
    rest = [unit for unit in range(len(crowd.units)) if unit not in answers]
    if not rest:
        return answers
    excess = counting.too_many(crowd)
    if excess:
        return answers | dict.fromkeys(rest, Answer(word="never", reason=excess))
    if any(doubts.values()):
        doubt = next(text for text in doubts.values() if text)
        return answers | {unit: Answer(word="unknown", reason=doubts[unit] or doubt) for unit in rest}
    try:
        told = _try_orders(question, crowd, sure=True)
        if any(crowd.is_tight) and any(answer.word == "never" for answer in told.values()):
            told = _only_if_never_at_all(told, _try_orders(question, crowd, sure=False))
    except Undecidable as problem:
        return answers | {unit: Answer(word="unknown", reason=str(problem)) for unit in rest}
    return {unit: answers.get(unit, told[unit]) for unit in range(len(crowd.units))}


def _doubt(crowd: Crowd, unit: int, minor: str) -> str:
    """Why the allocator cannot be asked about a unit; empty if it can."""
    for number, group in enumerate(crowd.groups):
        found = crowd.views[unit, number]
        if not crowd.counts[number]:
            continue
        if found.doubt:
            return f"pool {group.pool}: {found.doubt}"
        if crowd.units[unit].is_shared and crowd.is_tight[number] and found.maybe:
            return (
                f"pool {group.pool}: all pods of a shared claim go to one node, which may lack CPU or memory"
            )
        if not _has_order(crowd.units[unit], number, crowd, minor):
            return f"pool {group.pool}: in which order the scheduler tries these devices is not known"
    return ""


def _has_order(unit: Unit, group: int, crowd: Crowd, minor: str) -> bool:
    """Whether the scheduler tries the devices of a request in an order that is known before.

    Slices of one pool come by name, which is random; before 1.36 pools come in random order. Slices that each
    hold one GPU and its partitions are alike, so that their order matters to no one but a constraint.
    """
    shape = crowd.groups[group].shape
    sizes = Counter(device.driver for device in shape.devices)
    for choices in unit.claim.requests:
        for ask in choices:
            named = drivers_of(ask) & set(sizes)
            if any(sizes[driver] > MAX_DEVICES and driver not in shape.counters for driver in named or sizes):
                return False
            if unit.claim.constraints and any(driver in shape.counters for driver in named or sizes):
                return False
            if minor in _RANDOM_POOLS and len(named or sizes) > 1:
                return False
    return True


def _only_if_never_at_all(sure: Mapping[int, Answer], whole: Mapping[int, Answer]) -> dict[int, Answer]:
    told: dict[int, Answer] = {}
    for unit, answer in sure.items():
        told[unit] = answer
        if answer.word == "never" and whole[unit].word != "never":
            reason = "it fits only if the system leaves pods more than nine tenths of a node's CPU and memory"
            told[unit] = Answer(word="unknown", reason=reason)
    return told


def _try_orders(question: Question, crowd: Crowd, *, sure: bool) -> dict[int, Answer]:
    packing = Packing(
        [group.shape for group in crowd.groups],
        crowd.units,
        question.placements,
        counts_room=crowd.is_tight,
        barred=frozenset(pair for pair, found in crowd.views.items() if found.barrier),
        sure=sure,
    )
    if len({unit.signature for unit in crowd.units}) == 1:
        return _alike(crowd, packing)
    nodes = Counter[int]()
    for group, count in enumerate(crowd.counts):
        # Groups whose nodes are alike share an id.
        if count:
            nodes[packing.empty(group)] += count
    copies = [unit.copies for unit in crowd.units]
    return _read(crowd, packing, explore(packing, nodes, copies))


def _alike(crowd: Crowd, packing: Packing) -> dict[int, Answer]:
    """Pods that cannot be told apart fill every node in one way only, so the count is exact."""
    copies = sum(unit.copies for unit in crowd.units)
    places = sum(nodes * packing.most(0, group, copies) for group, nodes in enumerate(crowd.counts) if nodes)
    word: Word = "guaranteed" if copies <= places else "never"
    reason = (
        f"only alike pods can hold these devices, and the nodes take {places} of them; {copies} are asked for"
    )
    return dict.fromkeys(range(len(crowd.units)), Answer(word=word, reason=reason))


def _read(crowd: Crowd, packing: Packing, found: Findings) -> dict[int, Answer]:
    answers: dict[int, Answer] = {}
    for unit in range(len(crowd.units)):
        if unit not in found.waits and found.exhausted:
            reason = f"every order of arrival was followed ({found.states} states), and no pod waits in any"
            answers[unit] = Answer(word="guaranteed", reason=reason)
        elif found.completes and unit in found.waits:
            reason = "some order of arrival places every pod, another leaves one waiting"
            order = _told(crowd, packing, found.waits[unit], unit)
            answers[unit] = Answer(word="possible", reason=reason, order=order)
        elif found.completes:
            reason = f"there are too many orders to try all; in {found.states} of them no pod waits"
            answers[unit] = Answer(word="possible", reason=reason)
        elif found.exhausted:
            reason = f"no order of arrival places every pod ({found.states} states)"
            order = _told(crowd, packing, found.waits[unit], unit)
            answers[unit] = Answer(word="never", reason=reason, order=order)
        else:
            reason = f"none of {found.states} orders that were tried places every pod, and not all were tried"
            answers[unit] = Answer(word="unknown", reason=reason)
    return answers


def _told(crowd: Crowd, packing: Packing, steps: Sequence[tuple[int, int]], waiting: int) -> tuple[str, ...]:
    """An order of arrival in words: runs of pods on named nodes, then the one that waits."""
    nodes: list[list[Any]] = [
        [f"{crowd.groups[group].pool}-{number}", packing.empty(group)]
        for group, count in enumerate(crowd.counts)
        for number in range(count)
    ]
    runs: list[list[Any]] = []
    for unit, node in steps:
        place = next(entry for entry in nodes if entry[1] == node)
        place[1] = packing.place(unit, node)
        name = crowd.units[unit].name
        if runs and runs[-1][1:] == [name, place[0]]:
            runs[-1][0] += 1
        else:
            runs.append([1, name, place[0]])
    lines = [f"{count} x {name} on {node}" for count, name, node in runs]
    return (*lines, f"{crowd.units[waiting].name} waits: no node has what it asks for free")
