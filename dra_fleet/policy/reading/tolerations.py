"""Tolerations of pods, as far as a program tells them."""

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
    """The tolerations of a list; what is unknown in it is noted and covers nothing."""
    return [Toleration.of({key: value.text or "" for key, value in item.entries}) for item in given.items]


@dataclass(frozen=True, kw_only=True)
class Tolerated:
    """What the pods of a DaemonSet tolerate, read when it is asked for.

    Attributes:
        given: their list of tolerations.
        otherwise: what they tolerate where no list is given; None if nothing tells.
        always: what they tolerate whatever the list says.
    """

    given: Value
    otherwise: Sequence[Toleration] | None = ()
    always: Sequence[Toleration] = ()

    @property
    def unknown(self) -> bool:
        """Whether some of the list is unknown, which is noted."""
        return self.given.possible and self.given.plain is None

    def missing(self, taints: Iterable[Taint]) -> list[Taint] | None:
        """The taints that keep the pods off; None if nothing tells, or some of the list is unknown."""
        told = tolerations(self.given) if self.given.possible else self.otherwise
        if told is None or self.unknown:
            return None
        return untolerated_taints(taints, (*told, *self.always))


def declared_taints(pool: NodePool) -> list[Taint]:
    """The pool's own taints that a pod must tolerate to run there; unknown ones are noted and left out."""
    return [taint for taint in pool.taints if taint.keeps_off and not _UNTIL_READY.search(taint.key)]


def added_taints(pool: NodePool) -> Iterator[Taint]:
    """The taints that a cloud puts on the pool's nodes by itself, some of them not in every cluster."""
    for key, value in pool.cloud.added_taints(pool):
        yield Taint(key=key, value=value, effect="NoSchedule")
