"""Workloads that their queues start in every order of arrival, in some, or not while the others run.

Followed are the states in which Kueue has nothing left to do: all that was started fits into the quotas, and
nothing that waits fits in or may take its own back. Priorities are equal, every quota has one flavor, and
cohorts have no parents. Source: https://github.com/kubernetes-sigs/kueue/tree/v0.19.0/pkg/scheduler,
`flavorassigner` and `preemption/classical`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.model.plan import QueuePlan, WorkloadPlan

Judgement = Literal["guaranteed", "possible", "never", "unknown", "error"]

MOST_OF_COHORT: Final = 12
"""Workloads of one cohort whose sets are all followed."""
MOST_STATES: Final = 64
"""States of a cluster whose placement is checked."""


class Admission(Struct, frozen=True, kw_only=True, rename="camel"):
    """A queue's decision on a workload.

    Attributes:
        queue: The queue.
        word: `guaranteed`: started in every order of arrival; `possible`: in some; `never`: not while the
            others run; `unknown`: there are too many workloads to decide.
        reason: Why.
    """

    queue: str
    word: Judgement
    reason: str


class Admissions(Struct, frozen=True, kw_only=True):
    """Decisions of a cluster's queues.

    Attributes:
        of: By workload, of those that are in a queue.
        ends: The sets of them that run together when the queues have nothing left to do.
        followed: Whether these are all; else what is asked of a set may be more than ever runs.
        stops: Whether a workload that runs may be stopped for another.
    """

    of: Mapping[str, Admission]
    ends: tuple[frozenset[str], ...]
    followed: bool = True
    stops: bool = False


def admissions(queues: Sequence[QueuePlan], workloads: Iterable[WorkloadPlan]) -> Admissions:
    """Evaluate the queues of a cluster for their workloads."""
    by_name = {queue.name: queue for queue in queues}
    waiting: defaultdict[tuple[str, str], list[WorkloadPlan]] = defaultdict(list)
    for item in workloads:
        if item.queue in by_name:
            queue = by_name[item.queue]
            waiting[("", queue.name) if queue.cohort is None else ("cohort", queue.cohort)].append(item)
    of: dict[str, Admission] = {}
    states: list[tuple[frozenset[str], ...]] = []
    followed, stops = True, False
    for (kind, name), items in waiting.items():
        cohort = _Cohort(
            queues={
                queue.name: queue
                for queue in queues
                if (queue.cohort == name if kind else queue.name == name)
            },
            workloads={item.name: item for item in items},
        )
        found = cohort.ends()
        of |= cohort.answers(found)
        followed &= found is not None
        stops |= not cohort.fits(cohort.workloads) and any(
            queue.reclaims == "Any" for queue in cohort.queues.values()
        )
        states.append(found if found is not None else (frozenset(cohort.workloads),))
    if prod(len(ends) for ends in states) > MOST_STATES:
        states, followed = [(frozenset(of),)], False
    ends = {frozenset[str]().union(*chosen) for chosen in product(*states)}
    return Admissions(of=of, ends=tuple(sorted(ends, key=sorted)), followed=followed, stops=stops)


class _Cohort(Struct, frozen=True, kw_only=True):
    """Queues that lend each other what they do not use, and all workloads in them."""

    queues: Mapping[str, QueuePlan]
    workloads: Mapping[str, WorkloadPlan]

    def ends(self) -> tuple[frozenset[str], ...] | None:
        """Return the sets of workloads to which no other is added; None if there are too many."""
        if self.fits(self.workloads):
            return (frozenset(self.workloads),)
        if len(self.workloads) > MOST_OF_COHORT:
            return None
        sets = (
            frozenset(chosen)
            for size in range(len(self.workloads) + 1)
            for chosen in combinations(sorted(self.workloads), size)
        )
        return tuple(one for one in sets if self.fits(one) and not self._starts_another(one))

    def answers(self, ends: tuple[frozenset[str], ...] | None) -> dict[str, Admission]:
        """Return the decision on each workload."""
        return {
            name: Admission(queue=item.queue or "", word=word, reason=reason)
            for name, item in self.workloads.items()
            for word, reason in [self._reported(name, ends)]
        }

    def _reported(self, name: str, ends: tuple[frozenset[str], ...] | None) -> tuple[Judgement, str]:
        item = self.workloads[name]
        queue = self.queues[item.queue or ""]
        own = [other.name for other in self.workloads.values() if other.queue == item.queue]
        if self._within_own(queue, own) and (queue.reclaims == "Any" or queue.cohort is None):
            return "guaranteed", f"queue {queue.name} has enough quota for all its workloads"
        if ends is None:
            return (
                "unknown",
                f"more than {MOST_OF_COHORT} workloads share a quota that is too small for all of them",
            )
        without = [end for end in ends if name not in end]
        if not without:
            return "guaranteed", "there is quota for it in every order of arrival"
        others = ", ".join(sorted(without[0]))
        running = f"{others} {'is' if len(without[0]) == 1 else 'are'}"
        requested = ", ".join(f"{count * item.copies} {key}" for key, count in item.quota.items())
        if len(without) < len(ends):
            return (
                "possible",
                f"it needs {requested} of queue {queue.name}, and waits if {others} started first",
            )
        return "never", f"it needs {requested} of queue {queue.name}, and waits while {running} running"

    def fits(self, names: Iterable[str]) -> bool:
        """Return whether workloads have quota at the same time."""
        used = self._used(names)
        total, quota = Counter[str](), Counter[str]()
        for name, queue in self.queues.items():
            quota.update(queue.quotas)
            total.update(used[name])
            for key, count in used[name].items():
                limit = queue.borrowing.get(key) if queue.cohort is not None else 0
                if limit is not None and count > queue.quotas.get(key, 0) + limit:
                    return False
        return all(count <= quota[key] for key, count in total.items())

    def _starts_another(self, running: frozenset[str]) -> bool:
        """Return whether another workload fits, or can stop workloads that borrow its queue's quota."""
        for name in self.workloads.keys() - running:
            queue = self.queues[self.workloads[name].queue or ""]
            if self.fits(running | {name}):
                return True
            own = [other for other in running if self.workloads[other].queue == queue.name]
            if queue.reclaims == "Any" and self._within_own(queue, [*own, name], of=name):
                return True
        return False

    def _within_own(self, queue: QueuePlan, names: Sequence[str], of: str | None = None) -> bool:
        """Return whether workloads of a queue borrow no quota.

        Of all resources, or of those of one workload.
        """
        used = self._used(names)[queue.name]
        keys = self.workloads[of].quota if of is not None else used
        return all(used[key] <= queue.quotas.get(key, 0) for key in keys)

    def _used(self, names: Iterable[str]) -> defaultdict[str, Counter[str]]:
        used: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for name in names:
            item = self.workloads[name]
            for key, count in item.quota.items():
                used[item.queue or ""][key] += count * item.copies
        return used
