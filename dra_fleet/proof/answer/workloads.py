"""Do all pods find devices, in every order of arrival? `guaranteed`, `possible`, `never` or `unknown`.

The rules, in this order; the first that reports is named in the answer:
counting (search/counting.py: sound); alike pods (no one else can hold their devices: exact); every order of
arrival (search/orders.py: exact up to a number of states); a sample of orders, which guarantees nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from dra_fleet.model.specs import MAX_DEVICES
from dra_fleet.proof.search import counting
from dra_fleet.proof.search.contention import contentions
from dra_fleet.proof.search.orders import explore
from dra_fleet.proof.search.packing import Filled, NodeInUse, Packing, Undecidable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.proof.answer.verdicts import Judgement
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.proof.search.contention import Contention, Question
    from dra_fleet.proof.search.orders import TriedOrders

COMPARED = 8
"""Pod sets that are compared on a kind of node, by counting, in as long as a step takes."""
_RANDOM_POOLS = ("1.34", "1.35")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The verdict on a pod set.

    Attributes:
        word: The verdict.
        reason: The rule that reports, or why nothing does.
        order: For `possible`: an order of arrival after which a pod waits, one line per run of pods.
        excess: Why in every order some pod waits, of whichever workload; empty where it is not so.
        followed: Whether orders of arrival were followed, which says nothing of pods that go again.
    """

    word: Judgement
    reason: str
    order: tuple[str, ...] = ()
    excess: str = ""
    followed: bool = False


def check(question: Question, counts: Sequence[int]) -> dict[int, Answer]:
    """Return the verdict on each pod set for these numbers of nodes."""
    answers: dict[int, Answer] = {}
    for members, contention in contentions(question, counts):
        try:
            reported = _check(question, contention)
        except Undecidable as problem:
            reported = dict.fromkeys(range(len(members)), Answer(word="unknown", reason=str(problem)))
        answers |= {members[number]: answer for number, answer in reported.items()}
    return answers


def _check(question: Question, contention: Contention) -> dict[int, Answer]:
    everybody = range(len(contention.pod_sets))
    # Each pod set is compared with each other, as far as these differ, on each kind of node.
    alike = len(set(contention.first_alike))
    different = (1 + alike) * len(contention.nodes) + len(contention.of_one_demand)
    question.placements.spend(len(everybody) * (1 + different // COMPARED))
    doubts = {pod_set: _doubt(contention, pod_set, question.placements.minor) for pod_set in everybody}
    answers: dict[int, Answer] = {}
    for pod_set in everybody:
        reason = counting.enough(contention, pod_set)
        if reason:
            answers[pod_set] = Answer(word="guaranteed", reason=f"by counting: {reason}")
    rest = [pod_set for pod_set in everybody if pod_set not in answers]
    if not rest:
        return answers
    for pod_set in rest:
        reason = counting.too_many(contention, pod_set)
        if reason:
            answers[pod_set] = Answer(word="never", reason=reason)
    together = counting.too_many_together(contention)
    rest = [pod_set for pod_set in rest if pod_set not in answers]
    reported: Mapping[int, Answer] = {}
    if any(doubts.values()):
        doubt = next(text for text in doubts.values() if text)
        reported = {key: Answer(word="unknown", reason=doubts[key] or doubt, excess=together) for key in rest}
    elif rest:
        try:
            reported = _in_all_orders(question, contention)
        except Undecidable as problem:
            reported = {key: Answer(word="unknown", reason=str(problem), excess=together) for key in rest}
    answers |= {key: replace(reported[key], excess=together or reported[key].excess) for key in rest}
    if any(answer.word == "never" for answer in answers.values()):
        # Who can never be placed is named; that not all can be placed together follows.
        return {key: replace(answer, excess="") for key, answer in answers.items()}
    return answers


def _in_all_orders(question: Question, contention: Contention) -> Mapping[int, Answer]:
    reported = _try_orders(question, contention, sure=True)
    if any(contention.is_tight) and any(
        answer.word == "never" or answer.excess for answer in reported.values()
    ):
        return _only_if_never_at_all(reported, _try_orders(question, contention, sure=False))
    return reported


def _doubt(contention: Contention, pod_set: int, minor: str) -> str:
    for number, group in contention.first_there:
        found = contention.suitability[pod_set, number]
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
    """Return whether the scheduler tries the devices of a request in a known order.

    Slices of one pool come by name, which is random; before 1.36 pools come in random order. Slices that each
    hold one GPU and its partitions are alike, so that their order matters to no one but a constraint.
    """
    shape = contention.groups[group].shape
    sizes = shape.sizes
    if not shape.counters and minor not in _RANDOM_POOLS and max(sizes.values(), default=0) <= MAX_DEVICES:
        return True
    for choices in pod_set.claim.requests:
        for ask in choices:
            named = ask.drivers & set(sizes)
            if any(sizes[driver] > MAX_DEVICES and driver not in shape.counters for driver in named or sizes):
                return False
            if pod_set.claim.constraints and any(driver in shape.counters for driver in named or sizes):
                return False
            if minor in _RANDOM_POOLS and len(named or sizes) > 1:
                return False
    return True


def _only_if_never_at_all(sure: Mapping[int, Answer], whole: Mapping[int, Answer]) -> dict[int, Answer]:
    reported: dict[int, Answer] = {}
    for pod_set, answer in sure.items():
        reported[pod_set] = replace(answer, excess=answer.excess if whole[pod_set].excess else "")
        if answer.word == "never" and whole[pod_set].word != "never":
            reason = "it fits only if pods can use more than 90 % of a node's CPU and memory"
            reported[pod_set] = Answer(word="unknown", reason=reason)
    return reported


def _try_orders(question: Question, contention: Contention, *, sure: bool) -> dict[int, Answer]:
    packing = Packing(
        [group.shape for group in contention.groups],
        contention.pod_sets,
        question.placements,
        counts_resources=contention.is_tight,
        barred=frozenset(pair for pair, found in contention.suitability.items() if found.barrier),
        sure=sure,
        in_any_order=True,
    )
    alike = None
    if len({pod_set.signature for pod_set in contention.pod_sets}) == 1:
        alike = _alike(contention, packing)
    gangs = [pod_set.gang for pod_set in contention.pod_sets]
    if alike is not None and (alike.word == "guaranteed" or not any(gangs)):
        return dict.fromkeys(range(len(contention.pod_sets)), alike)
    nodes = Counter[int]()
    for group, count in enumerate(contention.counts):
        # Groups whose nodes are alike share an id.
        if count:
            nodes[packing.empty(group)] += count
    try:
        found = explore(packing, nodes, [pod_set.copies for pod_set in contention.pod_sets], gangs)
    except Undecidable:
        if alike is None:
            raise
        return {0: alike}
    return _read(contention, packing, found)


def _alike(contention: Contention, packing: Packing) -> Answer | None:
    """Return the verdict on equal pods; None if the order of devices or pods decides."""
    pod_sets = contention.pod_sets
    copies = sum(pod_set.copies for pod_set in pod_sets)
    least = most = 0
    for group, nodes in enumerate(contention.counts):
        fitting = packing.copies_on_node(0, group, copies) if nodes else (0, 0)
        if fitting is None:
            return None
        least, most = least + nodes * fitting[0], most + nodes * fitting[1]
    is_one = len(pod_sets) == 1
    needed = pod_sets[0].needed if is_one else copies
    places, word = (least, "guaranteed") if needed <= least else (most, "never")
    if least < needed <= most or (word == "never" and not is_one and any(one.gang for one in pod_sets)):
        return None
    reason = f"only equal pods can use these devices; {needed} are requested, and the nodes can run {places}"
    if word == "guaranteed":
        return Answer(word="guaranteed", reason=reason)
    return Answer(word="never" if is_one else "possible", reason=reason, excess="" if is_one else reason)


def _read(contention: Contention, packing: Packing, found: TriedOrders) -> dict[int, Answer]:
    answers: dict[int, Answer] = {}
    everybody = range(len(contention.pod_sets))
    excess, states = "", f"{found.states} states"
    if found.exhausted and not found.completes:
        names = ", ".join(contention.pod_sets[pod_set].name for pod_set in everybody)
        excess = f"no order of arrival places every pod of {names} ({states})"
    of_devices = " of devices and" if packing.is_in_any_order else ""
    for pod_set in everybody:
        order: tuple[str, ...] = ()
        if pod_set in found.waits:
            order = _reported(contention, packing, found.waits[pod_set], pod_set)
        word: Judgement = "possible"
        is_gang = bool(contention.pod_sets[pod_set].gang)
        if not order and found.exhausted:
            word = "guaranteed"
            reason = f"every order{of_devices} of arrival was followed ({states}), and no pod waits in any"
        elif not order:
            tried = f"in {found.states} of them no pod waits"
            reason = f"there are too many orders{of_devices} of arrival to try all; {tried}"
        elif pod_set in found.placed:
            every = "every pod" if found.completes else "the whole gang" if is_gang else "all its pods"
            reason = f"some order{of_devices} of arrival places {every}, another leaves one waiting"
        elif found.exhausted:
            word = "never"
            every = "as many as it needs, one after the other" if is_gang else "all its pods"
            reason = f"no order{of_devices} of arrival places {every} ({states})"
        else:
            word, order = "unknown", ()
            reason = (
                f"none of {found.states} orders that were tried places all its pods, and not all were tried"
            )
        answers[pod_set] = Answer(word=word, reason=reason, order=order, excess=excess, followed=True)
    return answers


def _reported(
    contention: Contention, packing: Packing, steps: Sequence[tuple[int, int, int]], waiting: int
) -> tuple[str, ...]:
    """Describe an order of arrival: runs of pods on named nodes, then the pod that waits.

    Where drivers publish in any order, or a gang waits, also which devices the pods get.
    """
    nodes = [
        NodeInUse(f"{contention.groups[group].pool}-{number}", packing.empty(group), Filled())
        for group, count in enumerate(contention.counts)
        for number in range(count)
    ]
    by_id: defaultdict[int, list[int]] = defaultdict(list)
    for number, place in enumerate(nodes):
        by_id[place.node].append(number)
    runs: list[tuple[str, str, list[str]]] = []
    for pod_set, node, after in steps:
        number = heappop(by_id[node])
        nodes[number], given = packing.step(pod_set, nodes[number], after)
        heappush(by_id[after], number)
        key = (contention.pod_sets[pod_set].name, nodes[number].name)
        if not runs or runs[-1][:2] != key:
            runs.append((*key, []))
        runs[-1][2].append("+".join(given))
    waits = contention.pod_sets[waiting]
    shows_devices = packing.is_in_any_order or waits.gang
    lines = [
        f"{len(given)} x {name} on {node}" + (f" ({', '.join(given)})" if shows_devices else "")
        for name, node, given in runs
    ]
    ending = f"{waits.name} waits: no node has free devices for it"
    if waits.gang:
        ending = f"{waits.name} waits as a whole: no node has free devices for one more of its pods"
    return (*lines, ending)
