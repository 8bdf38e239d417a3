"""Whether a node is meant by a node selector and the required node affinity of a pod.

Answers have three values, because a label of a node may be unknown; with all labels known they are those of
the scheduler. A requirement that the API server refuses is met by nothing, as the scheduler holds it.
Source: https://github.com/kubernetes/component-helpers/blob/v0.36.3/scheduling/corev1/nodeaffinity/nodeaffinity.go
and https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/labels/selector.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from dra_fleet.kubernetes.scheduling.taints import mapping, sequence, text

Answer = Literal["yes", "no", "unknown"]


class MissingLabel(Enum):
    """Why a node's label has no value."""

    ABSENT = "absent"
    UNKNOWN = "unknown"


Held = str | MissingLabel
"""What a node has under a key: a value, none, or nobody knows."""
Labels = Callable[[str], Held]
"""A node's labels, asked for by key."""

_NODE_NAME: Final = "metadata.name"
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_INT64: Final = 2**63


def all_labels(labels: Mapping[str, str]) -> Labels:
    """The labels of a node that has no others."""
    return lambda key: labels.get(key, MissingLabel.ABSENT)


def some_labels(labels: Mapping[str, str], lacking: Collection[str] = ()) -> Labels:
    """The labels of a node that may have others.

    Args:
        labels: those that are known.
        lacking: keys that it has not for certain.
    """
    return lambda key: labels.get(key, MissingLabel.ABSENT if key in lacking else MissingLabel.UNKNOWN)


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One demand on a label, or on a field, of a node."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, written: object) -> Requirement:
        """A requirement as it is written in YAML."""
        fields = mapping(written)
        values = tuple(text(value) for value in sequence(fields.get("values")))
        return cls(key=text(fields.get("key")), operator=text(fields.get("operator")), values=values)

    def holds(self, held: Held) -> Answer:
        """Whether a node with this under the key meets the demand."""
        if not self._is_valid:
            return "no"
        if held is MissingLabel.UNKNOWN:
            return "unknown"
        return "yes" if self._holds(None if held is MissingLabel.ABSENT else held) else "no"

    def may_meet(self, other: Requirement) -> bool:
        """Whether one node may meet both; only what is certain counts as no."""
        if self.key != other.key:
            return True
        if self.operator == "In":
            return any(other.holds(value) != "no" for value in self.values)
        if other.operator == "In":
            return other.may_meet(self)
        operators = {self.operator, other.operator}
        return "DoesNotExist" not in operators or operators <= {"DoesNotExist", "NotIn"}

    @property
    def _is_valid(self) -> bool:
        match self.operator:
            case "In" | "NotIn":
                return bool(self.values)
            case "Exists" | "DoesNotExist":
                return not self.values
            case "Gt" | "Lt":
                return len(self.values) == 1 and _integer(self.values[0]) is not None
            case _:
                return False

    def _holds(self, held: str | None) -> bool:
        match self.operator:
            case "In":
                return held in self.values
            case "NotIn":
                return held not in self.values
            case "Exists":
                return held is not None
            case "DoesNotExist":
                return held is None
            case _:
                return self._compares(held)

    def _compares(self, held: str | None) -> bool:
        found, bound = _integer(held), _integer(self.values[0])
        if found is None or bound is None:
            return False
        return found > bound if self.operator == "Gt" else found < bound


@dataclass(frozen=True, kw_only=True)
class Term:
    """Demands of which a node must meet all; a term without any is met by none."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @classmethod
    def of(cls, written: object) -> Term:
        """A node selector term as it is written in YAML."""
        term = mapping(written)
        return cls(
            labels=tuple(Requirement.of(one) for one in sequence(term.get("matchExpressions"))),
            fields=tuple(Requirement.of(one) for one in sequence(term.get("matchFields"))),
        )

    def matches(self, labels: Labels, name: Held) -> Answer:
        """Whether a node with these labels and this name is meant."""
        if not self.labels and not self.fields:
            return "no"
        if any(one.operator not in ("In", "NotIn") or len(one.values) != 1 for one in self.fields):
            return "no"
        on_labels = _all(one.holds(labels(one.key)) for one in self.labels)
        on_fields = _all(
            one.holds(name if one.key == _NODE_NAME else MissingLabel.ABSENT) for one in self.fields
        )
        return _all((on_labels, on_fields))


def selects(node_selector: object, labels: Labels, name: Held) -> Answer:
    """Whether a NodeSelector of core/v1 means a node; without terms it means none."""
    terms = sequence(mapping(node_selector).get("nodeSelectorTerms"))
    return _any(Term.of(term).matches(labels, name) for term in terms)


@dataclass(frozen=True, kw_only=True)
class RequiredNodeAffinity:
    """What a pod demands of its node: by `nodeSelector`, and by the required part of its node affinity.

    Attributes:
        selector: demands that a node must all meet.
        terms: of these one is enough; None where the pod has no required node affinity.
    """

    selector: tuple[Requirement, ...] = ()
    terms: tuple[Term, ...] | None = None

    @classmethod
    def of(cls, node_selector: object, affinity: object) -> RequiredNodeAffinity:
        """Read a pod's `nodeSelector` and `affinity`."""
        node_affinity = mapping(mapping(affinity).get("nodeAffinity"))
        required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
        terms = sequence(mapping(required).get("nodeSelectorTerms"))
        return cls(
            selector=tuple(carries(str(key), text(value)) for key, value in mapping(node_selector).items()),
            terms=None if required is None else tuple(Term.of(term) for term in terms),
        )

    @property
    def chooses(self) -> bool:
        """Whether it demands anything, so that not every node is meant."""
        return bool(self.selector) or self.terms is not None

    @property
    def keys(self) -> frozenset[str]:
        """Every label key that it asks for."""
        asked = (*self.selector, *(one for term in self.terms or () for one in term.labels))
        return frozenset(one.key for one in asked)

    def matches(self, labels: Labels, name: Held = MissingLabel.UNKNOWN) -> Answer:
        """Whether a node with these labels and this name is meant."""
        on_selector = _all(one.holds(labels(one.key)) for one in self.selector)
        if self.terms is None:
            return on_selector
        return _all((on_selector, _any(term.matches(labels, name) for term in self.terms)))

    def may_match(self, labels: Labels) -> bool:
        """Whether a node with these labels may be meant; no label is asked for that cannot change it."""
        if _all(one.holds(labels(one.key)) for one in self.selector) == "no":
            return False
        return self.terms is None or any(
            term.matches(labels, MissingLabel.UNKNOWN) != "no" for term in self.terms
        )

    def may_meet(self, other: RequiredNodeAffinity) -> bool:
        """Whether some node may be meant by both."""
        return any(
            all(mine.may_meet(theirs) for mine in one for theirs in another)
            for one in self._alternatives()
            for another in other._alternatives()
        )

    def _alternatives(self) -> list[tuple[Requirement, ...]]:
        return [(*self.selector, *term.labels) for term in self.terms or (Term(),)]


def carries(key: str, value: str) -> Requirement:
    """The demand that `nodeSelector` makes of a label."""
    return Requirement(key=key, operator="In", values=(value,))


def _all(answers: Iterable[Answer]) -> Answer:
    """The answer to all questions together; the rest is not asked after the first no."""
    answer: Answer = "yes"
    for one in answers:
        if one == "no":
            return "no"
        answer = one if one == "unknown" else answer
    return answer


def _any(answers: Iterable[Answer]) -> Answer:
    answer: Answer = "no"
    for one in answers:
        if one == "yes":
            return "yes"
        answer = one if one == "unknown" else answer
    return answer


def _integer(text: str | None) -> int | None:
    """A 64-bit number as Go's ParseInt reads it."""
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None
