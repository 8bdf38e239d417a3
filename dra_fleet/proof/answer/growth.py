"""Steps of an autoscaler before pods find their devices, also for a pool without nodes.

An autoscaler asks the scheduler about a node that it imagines. Where the pool has a node, that one is copied.
Where it has none, one cloud's predicts the slices itself; the others imagine a node without devices
(https://github.com/kubernetes/autoscaler/issues/10199).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from dra_fleet import clouds
from dra_fleet.proof.answer.misses import MOST_POOLS, why_unmatched
from dra_fleet.proof.answer.workloads import Answer, check
from dra_fleet.proof.search.contention import Question
from dra_fleet.proof.search.kinds import NodeUse
from dra_fleet.proof.search.packing import Undecidable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup, NodeShape
    from dra_fleet.model.plan import ClusterPlan, PoolPlan, WorkloadPlan
    from dra_fleet.proof.answer.admission import Admissions
    from dra_fleet.proof.answer.verdicts import Judgement, PoolFit
    from dra_fleet.proof.demand.pod_sets import PodSet


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
