"""Answers for pods in every order of arrival, for gangs, and for pods that wait for an autoscaler.

The rules, in this order; the first that reports is named in the answer:
counting (search/counting.py: sound); alike pods (no one else can hold their devices: exact); every order of
arrival (search/orders.py: exact up to a number of states); a sample of orders, which guarantees nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from copy import deepcopy
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import clouds
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.model.specs import MAX_DEVICES
from dra_fleet.proof.allocator import Steps
from dra_fleet.proof.answer.messages import MOST_POOLS, why_unmatched
from dra_fleet.proof.demand.asks import ask_of
from dra_fleet.proof.report import Undecidable
from dra_fleet.proof.search import counting
from dra_fleet.proof.search.contention import Question, contentions
from dra_fleet.proof.search.orders import explore
from dra_fleet.proof.search.packing import Filled, NodeInUse, NodeUse, Packing
from dra_fleet.proof.search.placements import Placements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup, NodeShape
    from dra_fleet.model.plan import ClusterPlan, PoolPlan, WorkloadPlan
    from dra_fleet.proof.answer.admission import Admissions
    from dra_fleet.proof.answer.verdicts import Judgement, PoolFit
    from dra_fleet.proof.demand.asks import ClaimAsk
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.proof.search.contention import Contention
    from dra_fleet.proof.search.orders import TriedOrders


COMPARED = 8
"""Pod sets that are compared on a kind of node, by counting, in as long as a step takes."""
_RANDOM_POOLS = ("1.34", "1.35")


class Answer(Struct, frozen=True, kw_only=True):
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


# The scheduler never reconsiders which devices an earlier pod of a gang got, so that a gang that fits may
# wait: https://github.com/kubernetes/kubernetes/issues/138765

Object = dict[str, Any]

MOST_TRIED = 16
"""Changes of each kind that are tried."""
MOST_STEPS = 60_000
"""Steps for all that is tried for one gang, besides those of the proof itself."""


def as_gang(item: WorkloadPlan, minor: str, answer: Answer) -> Answer:
    """Return the verdict on a workload after the defects of its version's gangs."""
    gangs = kubernetes_facts().gang(minor)
    if not item.gang or gangs is None or answer.word in ("error", "unknown"):
        return answer
    if item.claim is not None and gangs.shared_word and answer.word != "never":
        return Answer(word=gangs.shared_word, reason=gangs.shared_reason)
    is_sure = answer.word == "guaranteed" or (answer.word == "never" and item.gang == item.copies)
    if gangs.one_by_one and not is_sure:
        return Answer(
            word="unknown",
            reason=f"in Kubernetes {minor}, pods of a gang keep their devices while others of the gang wait: "
            f"{answer.reason}",
        )
    return answer


def remedy(question: Question, number: int, word_of: Callable[[Question, int], str]) -> str:
    """Return the changes after which a gang starts in every order; empty if no tried change is enough.

    Args:
        question: All pod sets and nodes.
        number: The gang's pod set.
        word_of: Returns the verdict on a pod set in a changed question.
    """
    placements = Placements(question.placements.classes, question.placements.minor, Steps(MOST_STEPS))
    spare = replace(question, placements=placements)
    gang = question.pod_sets[number]

    def starts(changed: PodSet) -> bool:
        return word_of(spare.changed({number: changed}), number) == "guaranteed"

    found: list[str] = []
    try:
        for changes in (_orders(gang.claim), _selectors(gang.claim, question)):
            tried = islice(changes, MOST_TRIED)
            found += islice(
                (
                    text
                    for text, spec in tried
                    if starts(replace(gang, claim=ask_of(gang.claim.name, spec, placements.classes)))
                ),
                1,
            )
        fewer = _largest(gang.gang - 1, lambda count: starts(replace(gang, gang=count)))
        found += [f"write minCount: {fewer}"] if fewer else []
    except Undecidable:
        pass  # what was found before the steps were used up is proved
    return f"{'; or '.join(found)}: then the gang starts in every order of arrival" if found else ""


def _orders(claim: ClaimAsk) -> Iterator[tuple[str, Object]]:
    """Yield specs with another alternative first."""
    for place, request in enumerate(claim.body["spec"].get("devices", {}).get("requests", [])):
        alternatives: list[Object] = request.get("firstAvailable", [])
        for number, first in enumerate(alternatives[1:], start=1):
            spec = deepcopy(claim.body["spec"])
            spec["devices"]["requests"][place]["firstAvailable"] = [
                first,
                *alternatives[:number],
                *alternatives[number + 1 :],
            ]
            yield (
                f"list alternative {first['name']} first in request {request['name']} of claim {claim.name}",
                spec,
            )


def _selectors(claim: ClaimAsk, question: Question) -> Iterator[tuple[str, Object]]:
    """Yield specs that select only devices with one of the values that an attribute has."""
    for place, request in enumerate(claim.body["spec"].get("devices", {}).get("requests", [])):
        if "exactly" not in request:
            continue
        (ask,) = claim.requests[place]
        for attribute, values in _values(ask.name, claim, question).items():
            for value in sorted(values) if len(values) > 1 else ():
                spec = deepcopy(claim.body["spec"])
                exactly = spec["devices"]["requests"][place]["exactly"]
                expression = f'{attribute} == "{value}"'
                exactly["selectors"] = [*exactly.get("selectors", []), {"cel": {"expression": expression}}]
                yield f"add selector {expression} to request {request['name']} of claim {claim.name}", spec


def _values(request: str, claim: ClaimAsk, question: Question) -> dict[str, set[str]]:
    """Return by attribute, as CEL reads it, the texts that it has on the devices that match a request."""
    found: dict[str, set[str]] = {}
    for ask in claim.asks:
        if ask.name != request:
            continue
        for kind in sorted(set(question.kinds)):
            shape = question.groups[kind].shape
            certain = question.placements.match(ask, shape).certain
            for device in shape.devices:
                attributes: Object = device.seen["attributes"] if device.key in certain else {}
                for key, value in attributes.items():
                    domain, _, identity = key.rpartition("/")
                    if isinstance(value.get("string"), str):
                        path = f'device.attributes["{domain or device.driver}"].{identity}'
                        found.setdefault(path, set()).add(value["string"])
    return found


def _largest(most: int, is_enough: Callable[[int], bool]) -> int:
    """Return the largest number up to `most` that is enough, or 0; smaller numbers are enough too."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if is_enough(middle) else (least, middle - 1)
    return least


# Steps of an autoscaler before pods find their devices, also for a pool without nodes. An autoscaler asks
# the scheduler about a node that it imagines. Where the pool has a node, that one is copied. Where it has
# none, one cloud's predicts the slices itself; the others imagine a node without devices
# (https://github.com/kubernetes/autoscaler/issues/10199).

WORST_FIRST: Final[tuple[Judgement, ...]] = ("error", "never", "unknown", "possible", "guaranteed")

_KEEP = "keep nodes.min at 1, or grow it by hand"


def must_grow(cluster: ClusterPlan, question: Question, pod_set: int, fits: Sequence[PoolFit]) -> list[str]:
    """Per pool that fits a pod set above its least number of nodes: the required steps, in words.

    Of many pools the first are reported: it is enough that one of them grows.

    Args:
        cluster: the cluster.
        question: its nodes and what is asked of them.
        pod_set: which pod set.
        fits: what each pool gives it alone.
    """
    pools = {pool.name: pool for pool in cluster.pools}
    taking = {fit.pool for fit in fits if fit.at_max}
    growing = [group for group in question.groups if group.pool in taking and group.least < group.most]
    return [
        _sentence(cluster, pools[group.pool], group, question.pod_sets[pod_set], question)
        for group in growing[:MOST_POOLS]
    ]


def _sentence(
    cluster: ClusterPlan, pool: PoolPlan, group: NodeGroup, pod_set: PodSet, question: Question
) -> str:
    grows = f"pool {pool.name} must grow above {group.least} of at most {group.most} nodes"
    if group.least:
        return f"{grows}, which its autoscaler can do: the pool always has a node with these devices"
    cloud = clouds.named(cluster.cloud)
    imagined = cloud.imagined_devices(pool, group.shape.devices)
    if imagined is None:
        return (
            f"{grows}, but {cloud.autoscaler} knows the devices of a pool only from a node that exists: "
            f"{_KEEP}{cloud.first_node}"
        )
    devices, reason = imagined
    keep = f"remove karpenter of the pool and {_KEEP}" if pool.autoscaler else _KEEP
    reason = reason or _misses(replace(group.shape, devices=devices), pod_set, question)
    if reason:
        return f"{grows}, but the autoscaler never adds the first node: {reason}: {keep}"
    return f"{grows}, which {pool.autoscaler or cloud.autoscaler} can do from zero nodes"


def _misses(shape: NodeShape, pod_set: PodSet, question: Question) -> str:
    """Return why a pod set finds no devices on the autoscaler's template node; empty if it does."""
    try:
        if question.placements.place(pod_set.claim, shape, NodeUse()) is not None:
            return ""
        for choices in pod_set.claim.requests:
            found = [(ask, question.placements.match(ask, shape)) for ask in choices]
            if not any(one.certain for _, one in found):
                ask, one = found[0]
                where = "that its autoscaler imagines"
                return why_unmatched(ask.what, one.misses, len(shape.devices), where)[0]
    except Undecidable as problem:
        return str(problem)
    return "no node that its autoscaler imagines has all it requests together"


def check_together(
    question: Question,
    checked: Sequence[int],
    running: Sequence[frozenset[int]],
    counts: Sequence[int],
    queued: Admissions,
) -> dict[int, Answer]:
    """Return the worst verdict on each pod set for these numbers of nodes.

    Args:
        question: about all pod sets.
        checked: those that are checked.
        running: the pod sets that run together, in each state that queues come to.
        counts: nodes of each group.
        queued: what the queues do.
    """
    answers: dict[int, Answer] = {}
    for state in running:
        members = [pod_set for pod_set in checked if pod_set in state]
        for number, answer in check(_part(question, members), counts).items():
            reported = _as_queued(answer, queued)
            before = answers.get(members[number], reported)
            answers[members[number]] = min(before, reported, key=lambda one: WORST_FIRST.index(one.word))
    return answers


def running_together(
    workloads: Sequence[WorkloadPlan], of_workload: Mapping[str, int], queued: Admissions
) -> list[frozenset[int]]:
    """Return the pod sets that run together in each final state of the queues.

    One that no end has is asked about as if its queue started it alone.
    """
    always = {item.name for item in workloads if item.name not in queued.of}
    never = queued.of.keys() - frozenset[str]().union(*queued.ends)
    states = [always | end for end in (*queued.ends, *({name} for name in sorted(never)))]
    return [frozenset(of_workload[name] for name in state) for state in states]


def _as_queued(answer: Answer, queued: Admissions) -> Answer:
    """Adjust a verdict on pods that may not run together, or some of which may be stopped again."""
    if answer.word == "guaranteed" and answer.followed and queued.stops:
        reason = f"{answer.reason}; but workloads that a queue stops may leave devices in another pattern"
        return replace(answer, word="possible", reason=reason)
    if answer.word != "guaranteed" and not queued.followed:
        reason = f"the states of the queues are too many to follow; all together: {answer.reason}"
        return Answer(word="unknown", reason=reason)
    return answer


def _part(question: Question, checked: Sequence[int]) -> Question:
    return Question(
        pod_sets=[question.pod_sets[pod_set] for pod_set in checked],
        groups=question.groups,
        kinds=question.kinds,
        suitability={
            (number, group): question.suitability[pod_set, group]
            for number, pod_set in enumerate(checked)
            for group in range(len(question.groups))
        },
        placements=question.placements,
    )
