"""Do all pods find devices, in every order of arrival? `guaranteed`, `possible`, `never` or `unknown`.

The rules, in this order; the first that tells is named in the answer:
counting (search/counting.py: sound); alike pods (nobody else can hold their devices: exact); every order of
arrival (search/orders.py: exact up to a number of states); a sample of orders, which guarantees nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dra_fleet.model.published import MAX_DEVICES
from dra_fleet.proof.demand.asks import drivers_of
from dra_fleet.proof.search import counting
from dra_fleet.proof.search.contention import contentions
from dra_fleet.proof.search.orders import explore
from dra_fleet.proof.search.packing import Packing, Undecidable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.proof.answer.verdicts import Judgement
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.proof.search.contention import Contention, Question
    from dra_fleet.proof.search.orders import TriedOrders

_RANDOM_POOLS = ("1.34", "1.35")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The verdict on a pod set.

    Attributes:
        word: The verdict.
        reason: The rule that tells, or why nothing does.
        order: For `possible`: an order of arrival after which a pod waits, one line per run of pods.
    """

    word: Judgement
    reason: str
    order: tuple[str, ...] = ()


def judge(question: Question, counts: Sequence[int]) -> dict[int, Answer]:
    """The verdict on each pod set with so many nodes of each group."""
    answers: dict[int, Answer] = {}
    for members, contention in contentions(question, counts):
        for number, answer in _judge(question, contention).items():
            answers[members[number]] = answer
    return answers


def _judge(question: Question, contention: Contention) -> dict[int, Answer]:
    everybody = range(len(contention.pod_sets))
    doubts = {pod_set: _doubt(contention, pod_set, question.placements.minor) for pod_set in everybody}
    answers: dict[int, Answer] = {}
    for pod_set in everybody:
        reason = counting.enough(contention, pod_set)
        if reason:
            answers[pod_set] = Answer(word="guaranteed", reason=f"by counting: {reason}")
    rest = [pod_set for pod_set in everybody if pod_set not in answers]
    if not rest:
        return answers
    excess = counting.too_many(contention)
    if excess:
        return answers | dict.fromkeys(rest, Answer(word="never", reason=excess))
    if any(doubts.values()):
        doubt = next(text for text in doubts.values() if text)
        unknown = {pod_set: doubts[pod_set] or doubt for pod_set in rest}
        return answers | {key: Answer(word="unknown", reason=reason) for key, reason in unknown.items()}
    try:
        told = _try_orders(question, contention, sure=True)
        if any(contention.is_tight) and any(answer.word == "never" for answer in told.values()):
            told = _only_if_never_at_all(told, _try_orders(question, contention, sure=False))
    except Undecidable as problem:
        return answers | {pod_set: Answer(word="unknown", reason=str(problem)) for pod_set in rest}
    return {pod_set: answers.get(pod_set, told[pod_set]) for pod_set in everybody}


def _doubt(contention: Contention, pod_set: int, minor: str) -> str:
    """Why the allocator cannot be asked about a pod set; empty if it can."""
    for number, group in enumerate(contention.groups):
        found = contention.suitability[pod_set, number]
        if not contention.counts[number]:
            continue
        if found.doubt:
            return f"pool {group.pool}: {found.doubt}"
        if contention.pod_sets[pod_set].is_shared and contention.is_tight[number] and found.maybe:
            return (
                f"pool {group.pool}: all pods of a shared claim go to one node, which may lack CPU or memory"
            )
        if not _has_order(contention.pod_sets[pod_set], number, contention, minor):
            return f"pool {group.pool}: in which order the scheduler tries these devices is not known"
    return ""


def _has_order(pod_set: PodSet, group: int, contention: Contention, minor: str) -> bool:
    """Whether the scheduler tries the devices of a request in an order that is known before.

    Slices of one pool come by name, which is random; before 1.36 pools come in random order. Slices that each
    hold one GPU and its partitions are alike, so that their order matters to no one but a constraint.
    """
    shape = contention.groups[group].shape
    sizes = Counter(device.driver for device in shape.devices)
    for choices in pod_set.claim.requests:
        for ask in choices:
            named = drivers_of(ask) & set(sizes)
            if any(sizes[driver] > MAX_DEVICES and driver not in shape.counters for driver in named or sizes):
                return False
            if pod_set.claim.constraints and any(driver in shape.counters for driver in named or sizes):
                return False
            if minor in _RANDOM_POOLS and len(named or sizes) > 1:
                return False
    return True


def _only_if_never_at_all(sure: Mapping[int, Answer], whole: Mapping[int, Answer]) -> dict[int, Answer]:
    told: dict[int, Answer] = {}
    for pod_set, answer in sure.items():
        told[pod_set] = answer
        if answer.word == "never" and whole[pod_set].word != "never":
            reason = "it fits only if the system leaves pods more than nine tenths of a node's CPU and memory"
            told[pod_set] = Answer(word="unknown", reason=reason)
    return told


def _try_orders(question: Question, contention: Contention, *, sure: bool) -> dict[int, Answer]:
    packing = Packing(
        [group.shape for group in contention.groups],
        contention.pod_sets,
        question.placements,
        counts_resources=contention.is_tight,
        barred=frozenset(pair for pair, found in contention.suitability.items() if found.barrier),
        sure=sure,
    )
    if len({pod_set.signature for pod_set in contention.pod_sets}) == 1:
        return _alike(contention, packing)
    nodes = Counter[int]()
    for group, count in enumerate(contention.counts):
        # Groups whose nodes are alike share an id.
        if count:
            nodes[packing.empty(group)] += count
    copies = [pod_set.copies for pod_set in contention.pod_sets]
    return _read(contention, packing, explore(packing, nodes, copies))


def _alike(contention: Contention, packing: Packing) -> dict[int, Answer]:
    """Pods that cannot be told apart fill every node in one way only, so the count is exact."""
    copies = sum(pod_set.copies for pod_set in contention.pod_sets)
    places = sum(
        nodes * packing.most(0, group, copies) for group, nodes in enumerate(contention.counts) if nodes
    )
    word: Judgement = "guaranteed" if copies <= places else "never"
    reason = (
        f"only alike pods can hold these devices, and the nodes take {places} of them; {copies} are asked for"
    )
    return dict.fromkeys(range(len(contention.pod_sets)), Answer(word=word, reason=reason))


def _read(contention: Contention, packing: Packing, found: TriedOrders) -> dict[int, Answer]:
    answers: dict[int, Answer] = {}
    for pod_set in range(len(contention.pod_sets)):
        if pod_set not in found.waits and found.exhausted:
            reason = f"every order of arrival was followed ({found.states} states), and no pod waits in any"
            answers[pod_set] = Answer(word="guaranteed", reason=reason)
        elif found.completes and pod_set in found.waits:
            reason = "some order of arrival places every pod, another leaves one waiting"
            order = _told(contention, packing, found.waits[pod_set], pod_set)
            answers[pod_set] = Answer(word="possible", reason=reason, order=order)
        elif found.completes:
            reason = f"there are too many orders to try all; in {found.states} of them no pod waits"
            answers[pod_set] = Answer(word="possible", reason=reason)
        elif found.exhausted:
            reason = f"no order of arrival places every pod ({found.states} states)"
            order = _told(contention, packing, found.waits[pod_set], pod_set)
            answers[pod_set] = Answer(word="never", reason=reason, order=order)
        else:
            reason = f"none of {found.states} orders that were tried places every pod, and not all were tried"
            answers[pod_set] = Answer(word="unknown", reason=reason)
    return answers


def _told(
    contention: Contention, packing: Packing, steps: Sequence[tuple[int, int]], waiting: int
) -> tuple[str, ...]:
    """An order of arrival in words: runs of pods on named nodes, then the one that waits."""
    nodes: list[list[Any]] = [
        [f"{contention.groups[group].pool}-{number}", packing.empty(group)]
        for group, count in enumerate(contention.counts)
        for number in range(count)
    ]
    runs: list[list[Any]] = []
    for pod_set, node in steps:
        place = next(entry for entry in nodes if entry[1] == node)
        place[1] = packing.place(pod_set, node)
        name = contention.pod_sets[pod_set].name
        if runs and runs[-1][1:] == [name, place[0]]:
            runs[-1][0] += 1
        else:
            runs.append([1, name, place[0]])
    lines = [f"{count} x {name} on {node}" for count, name, node in runs]
    return (*lines, f"{contention.pod_sets[waiting].name} waits: no node has what it asks for free")
