"""Tolerations of pods, as far as a program tells them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.scheduling.taints import Toleration, untolerated_taints

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dra_fleet.core.declared.values import Value
    from dra_fleet.kubernetes.scheduling.taints import Taint


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
