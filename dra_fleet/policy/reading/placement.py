"""On which nodes the pods of a DaemonSet may run, as far as a program tells: node selectors and affinity."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dra_fleet.clouds.pools import Pool
    from dra_fleet.declared.values import Value

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
Held = str | None | Literal[False]
"""A label of a node: its value, False where the node has none, None where that is not known."""

_REQUIRED: Final = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
_OF_KUBERNETES: Final = re.compile(r"(^|[./])(kubernetes\.io|k8s\.io)(/|$)")
"""Keys of labels that a cluster puts on nodes itself."""
_DISCOVERED: Final = ("nvidia.com/", "feature.node.kubernetes.io/")


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One demand on a node's labels."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def may_hold(self, held: Held) -> bool:
        """Whether a node with this label, or without it, may meet the demand."""
        if held is None:
            return True
        match self.operator:
            case "In":
                return held in self.values
            case "NotIn":
                return held not in self.values
            case "Exists":
                return held is not False
            case "DoesNotExist":
                return held is False
            case _:
                return held is not False

    def may_meet(self, other: Requirement) -> bool:
        """Whether one node may meet both; only what is certain counts as no."""
        if self.key != other.key:
            return True
        if self.operator == "In":
            return any(other.may_hold(value) for value in self.values)
        if other.operator == "In":
            return other.may_meet(self)
        return {self.operator, other.operator} != {"Exists", "DoesNotExist"}


Term = tuple[Requirement, ...]


@dataclass(frozen=True, kw_only=True)
class Placement:
    """The nodes that meet all demands of one of the terms."""

    terms: tuple[Term, ...] = ((),)

    @property
    def chooses(self) -> bool:
        """Whether it demands anything, so that not every node is among them."""
        return all(self.terms)

    def may_include(self, pool: Pool, *, discovered: bool) -> bool:
        """Whether nodes of a pool may be among them.

        Args:
            pool: the pool.
            discovered: whether something labels GPU nodes by what is found on them.
        """
        return any(
            all(demand.may_hold(_held(pool, demand.key, discovered=discovered)) for demand in term)
            for term in self.terms
        )

    def may_meet(self, other: Placement) -> bool:
        """Whether a node may be among both."""
        return any(
            all(mine.may_meet(theirs) for mine in term for theirs in another)
            for term in self.terms
            for another in other.terms
        )


def placement(pods: Value, default: Iterable[Requirement] = ()) -> Placement:
    """Read where pods may run.

    Args:
        pods: what has a `nodeSelector` and an `affinity`.
        default: where no affinity is given, the demands of which one is enough; null takes them away.
    """
    chosen = tuple(
        Requirement(key=key, operator="In", values=(value.text,))
        for key, value in pods.get("nodeSelector").entries
        if value.text is not None
    )
    terms = [_term(term) for term in pods.get("affinity", *_REQUIRED).items]
    if not terms and "affinity" not in dict(pods.entries):
        terms = [(demand,) for demand in default]
    return Placement(terms=tuple((*chosen, *term) for term in terms) or (chosen,))


def _term(term: Value) -> Term:
    return tuple(
        Requirement(
            key=demand.get("key").text or "",
            operator=cast("Operator", demand.get("operator").text or "Exists"),
            values=tuple(value.text or "" for value in demand.get("values").items),
        )
        for demand in term.get("matchExpressions").items
    )


def _held(pool: Pool, key: str, *, discovered: bool) -> Held:
    label = pool.label(key)
    if label.unknown:
        return None
    if label.given:
        return label.text
    if key.startswith(_DISCOVERED):
        return None if discovered else False
    cloud = pool.cloud
    by_platform = _OF_KUBERNETES.search(key) or cloud.own_labels.search(key)
    return None if by_platform and key not in cloud.labels_by_hand else False


def any_of(labels: Mapping[str, str]) -> list[Requirement]:
    """Demands for one label each."""
    return [Requirement(key=key, operator="In", values=(value,)) for key, value in labels.items()]
