"""Tolerations of pods, and whether one covers a taint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.clouds.pools import Taint
    from dra_fleet.declared.values import Value


@dataclass(frozen=True, kw_only=True)
class Toleration:
    """One toleration; an empty key with `Exists` covers every taint, an empty effect every effect."""

    key: str
    operator: str
    value: str
    effect: str

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Toleration:
        """A toleration as it is written in YAML; the operator is Equal unless given."""
        return cls(
            key=fields.get("key", ""),
            operator=fields.get("operator") or "Equal",
            value=fields.get("value", ""),
            effect=fields.get("effect", ""),
        )

    def covers(self, taint: Taint) -> bool:
        """Whether pods with this toleration may run on nodes with the taint."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == "Exists" or (bool(self.key) and self.value == taint.value)


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
        return [taint for taint in taints if not any(each.covers(taint) for each in (*told, *self.always))]
