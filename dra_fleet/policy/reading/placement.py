"""Nodes on which the pods of a DaemonSet can run: node selectors, affinity and tolerations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet import drivers
from dra_fleet.kubernetes.scheduling.node_affinity import (
    MissingLabel,
    RequiredNodeAffinity,
    Requirement,
    Term,
    carries,
)
from dra_fleet.kubernetes.scheduling.taints import Taint, Toleration, untolerated_taints

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.values import Value
    from dra_fleet.kubernetes.scheduling.node_affinity import Labels, LabelValue


_REQUIRED: Final = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
_OF_KUBERNETES: Final = re.compile(r"(^|[./])(kubernetes\.io|k8s\.io)(/|$)")
"""Keys of labels that a cluster puts on nodes itself."""
_DISCOVERED: Final = "feature.node.kubernetes.io/"


def placement(pods: Value, default: Mapping[str, str] | None = None) -> RequiredNodeAffinity:
    """Read where pods may run.

    Args:
        pods: what has a `nodeSelector` and an `affinity`.
        default: where no affinity is given, labels of which one is enough; null takes them away.
    """
    chosen = tuple(
        carries(key, value.text) for key, value in pods.get("nodeSelector").entries if value.text is not None
    )
    terms = [_term(term) for term in pods.get("affinity", *_REQUIRED).items]
    if not terms and "affinity" not in dict(pods.entries):
        terms = [Term(labels=(carries(key, value),)) for key, value in (default or {}).items()]
    return RequiredNodeAffinity(selector=chosen, terms=tuple(terms) or None)


def pool_labels(pool: NodePool, *, discovered: bool) -> Labels:
    """Return the labels of a pool's nodes; reading an unknown label notes it.

    Args:
        pool: the pool.
        discovered: whether something labels GPU nodes by what is found on them.
    """
    return lambda key: _label_value(pool, key, discovered=discovered)


def _term(term: Value) -> Term:
    return Term(labels=_demands(term.get("matchExpressions")), fields=_demands(term.get("matchFields")))


def _demands(demands: Value) -> tuple[Requirement, ...]:
    return (_demand(demands),) if demands.unknown else tuple(_demand(one) for one in demands.items)


def _demand(demand: Value) -> Requirement:
    """Return the requirement of one node selector term; unknown parts are noted."""
    return Requirement(
        key=demand.get("key").text or "",
        operator=demand.get("operator").text or "Exists",
        values=tuple(value.text or "" for value in demand.get("values").items),
    )


def _label_value(pool: NodePool, key: str, *, discovered: bool) -> LabelValue:
    label = pool.label(key)
    if not key or label.unknown:
        return MissingLabel.UNKNOWN
    if label.given:
        return MissingLabel.UNKNOWN if label.text is None else label.text
    if key.startswith(_DISCOVERED) or drivers.labels_nodes(key):
        return MissingLabel.UNKNOWN if discovered else MissingLabel.ABSENT
    by_platform = _OF_KUBERNETES.search(key) or pool.cloud.sets_label(key)
    return MissingLabel.UNKNOWN if by_platform else MissingLabel.ABSENT


_UNTIL_READY: Final = re.compile(r"(not-?ready|uninitialized)$")
"""Taints of a node's first minutes, which an agent takes away: https://docs.cilium.io/en/stable/installation/taints/."""


def tolerations(given: Value) -> list[Toleration]:
    """Parse a list of tolerations; unknown ones are noted and cover nothing."""
    return [Toleration.of({key: value.text or "" for key, value in item.entries}) for item in given.items]


class Tolerated(Struct, frozen=True, kw_only=True):
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
