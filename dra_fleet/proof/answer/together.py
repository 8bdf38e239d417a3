"""The verdict on workloads some of which wait in queues: on all that run together, and the worst of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from dra_fleet.proof.answer.workloads import Answer, judge
from dra_fleet.proof.search.contention import Question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.plan import WorkloadPlan
    from dra_fleet.proof.answer.admission import Admissions
    from dra_fleet.proof.answer.verdicts import Judgement

WORST_FIRST: Final[tuple[Judgement, ...]] = ("error", "never", "unknown", "possible", "guaranteed")


def judge_together(
    question: Question,
    judged: Sequence[int],
    running: Sequence[frozenset[int]],
    counts: Sequence[int],
    queued: Admissions,
) -> dict[int, Answer]:
    """The worst verdict on each pod set with so many nodes of each group.

    Args:
        question: about all pod sets.
        judged: those that are judged.
        running: the pod sets that run together, in each state that queues come to.
        counts: nodes of each group.
        queued: what the queues do.
    """
    answers: dict[int, Answer] = {}
    for state in running:
        members = [pod_set for pod_set in judged if pod_set in state]
        for number, answer in judge(_part(question, members), counts).items():
            told = _as_queued(answer, queued)
            before = answers.get(members[number], told)
            answers[members[number]] = min(before, told, key=lambda one: WORST_FIRST.index(one.word))
    return answers


def running_together(
    workloads: Sequence[WorkloadPlan], of_workload: Mapping[str, int], queued: Admissions
) -> list[frozenset[int]]:
    """The pod sets that run together in each end of the queues; those in no queue always run.

    One that no end has is asked about as if its queue started it alone.
    """
    always = {item.name for item in workloads if item.name not in queued.of}
    never = queued.of.keys() - frozenset[str]().union(*queued.ends)
    states = [always | end for end in (*queued.ends, *({name} for name in sorted(never)))]
    return [frozenset(of_workload[name] for name in state) for state in states]


def _as_queued(answer: Answer, queued: Admissions) -> Answer:
    """A verdict on pods that were only assumed to run together, or some of which may be stopped again."""
    if answer.word == "guaranteed" and answer.followed and queued.stops:
        reason = f"{answer.reason}; but workloads that a queue stops may leave devices in another pattern"
        return replace(answer, word="possible", reason=reason)
    if answer.word != "guaranteed" and not queued.followed:
        reason = f"the states of the queues are too many to follow; all together: {answer.reason}"
        return Answer(word="unknown", reason=reason)
    return answer


def _part(question: Question, judged: Sequence[int]) -> Question:
    """The question about some pod sets only."""
    return Question(
        pod_sets=[question.pod_sets[pod_set] for pod_set in judged],
        groups=question.groups,
        kinds=question.kinds,
        suitability={
            (number, group): question.suitability[pod_set, group]
            for number, pod_set in enumerate(judged)
            for group in range(len(question.groups))
        },
        placements=question.placements,
    )
