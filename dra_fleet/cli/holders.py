"""Who holds devices now, for a review: what was saved of it, or what the clusters say."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    from dra_fleet.clusters.holders import ClusterAnswers
    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.review.running import Running
    from dra_fleet.review.was import Was

CLUSTERS = "clusters"
"""The word that asks the clusters themselves who holds devices."""


@dataclass(frozen=True)
class SavedHolders:
    """What was saved; `running` None: nothing."""

    running: Running | None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def begin(self, plans: tuple[FleetPlan, ...]) -> None:
        """It is read already."""

    def told(self, plans: tuple[FleetPlan, ...], was: Was) -> Running | None:
        """What was saved."""
        del plans, was
        return self.running


class AskedClusters:
    """Asks the clusters of a stack, and stops asking when its context is left."""

    def __init__(self, stack: str, step: Callable[[str], AbstractContextManager[object]]) -> None:
        """Ask nothing yet.

        Args:
            stack: The stack whose secrets or outputs hold kubeconfigs.
            step: Opens a step that is shown.
        """
        self._stack = stack
        self._step = step
        self._plans: tuple[FleetPlan, ...] = ()
        self._answer: Future[ClusterAnswers] | None = None
        self._asking = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._asking.close()

    def begin(self, plans: tuple[FleetPlan, ...]) -> None:
        """Ask in a thread of its own."""
        self._begun(plans)

    def told(self, plans: tuple[FleetPlan, ...], was: Was) -> Running | None:
        """What the clusters say; they are asked again where the plans are others.

        Raises:
            KubeconfigError: A cluster cannot be reached or refuses to answer.
        """
        from dra_fleet.review.running import parse_running

        with self._step(CLUSTERS):
            answer = self._answer if self._answer and plans == self._plans else self._begun(plans)
            found = answer.result().holders(was.copies)
        return parse_running(found, "what the clusters answered")

    def _begun(self, plans: tuple[FleetPlan, ...]) -> Future[ClusterAnswers]:
        from dra_fleet.clusters.holders import read_clusters
        from dra_fleet.clusters.meanwhile import meanwhile

        self._asking.close()
        self._plans = plans
        self._answer = self._asking.enter_context(meanwhile(read_clusters(plans, self._stack)))
        return self._answer
