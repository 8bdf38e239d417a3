"""Tolerations of pods, as far as a program reports them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dra_fleet.kubernetes.scheduling.taints import Taint, Toleration, untolerated_taints

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.values import Value


_UNTIL_READY: Final = re.compile(r"(not-?ready|uninitialized)$")
"""Taints of a node's first minutes, which an agent takes away: https://docs.cilium.io/en/stable/installation/taints/."""


def tolerations(given: Value) -> list[Toleration]:
    """Parse a list of tolerations; unknown ones are noted and cover nothing."""
    return [Toleration.of({key: value.text or "" for key, value in item.entries}) for item in given.items]


@dataclass(frozen=True, kw_only=True)
class Tolerated:
    """Tolerations of a DaemonSet's pods, read at first use.

    Attributes:
        given: their list of tolerations.
        otherwise: what they tolerate where no list is given; None if unknown.
        always: what they tolerate whatever the list says.
    """

    given: Value
    otherwise: Sequence[Toleration] | None = ()
    always: Sequence[Toleration] = ()

    @property
    def unknown(self) -> bool:
        """True if part of the list is unknown, which is noted."""
        return self.given.possible and self.given.plain is None

    def missing(self, taints: Iterable[Taint]) -> list[Taint] | None:
        """Return the taints that the pods do not tolerate; None if they or part of the list are unknown."""
        reported = tolerations(self.given) if self.given.possible else self.otherwise
        if reported is None or self.unknown:
            return None
        return untolerated_taints(taints, (*reported, *self.always))


def declared_taints(pool: NodePool) -> list[Taint]:
    """Return the pool's own taints that a pod must tolerate; unknown ones are noted and omitted."""
    return [taint for taint in pool.taints if taint.keeps_off and not _UNTIL_READY.search(taint.key)]


def added_taints(pool: NodePool) -> Iterator[Taint]:
    """Yield the taints that a cloud adds to the pool's nodes by itself, some only in some clusters."""
    for key, value in pool.cloud.added_taints(pool):
        yield Taint(key=key, value=value, effect="NoSchedule")
