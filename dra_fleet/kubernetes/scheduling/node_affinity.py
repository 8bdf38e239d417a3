"""Match of a node by a node selector and the required node affinity of a pod.

Answers have three values, because a label of a node may be unknown; with all labels known they are those of
the scheduler. No node meets a requirement that the API server rejects, as in the scheduler. Source:
https://github.com/kubernetes/component-helpers/blob/v0.36.3/scheduling/corev1/nodeaffinity/nodeaffinity.go
and https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/labels/selector.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from typing import Final, Literal

from msgspec import Struct

from dra_fleet.kubernetes.scheduling.taints import mapping, sequence, text

Answer = Literal["yes", "no", "unknown"]


class MissingLabel(Enum):
    """Reason for a node's missing label value."""

    ABSENT = "absent"
    UNKNOWN = "unknown"


LabelValue = str | MissingLabel
"""A node's value of a key: a text, none, or unknown."""
Labels = Callable[[str], LabelValue]
"""A node's labels, asked for by key."""

_NODE_NAME: Final = "metadata.name"
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_INT64: Final = 2**63


def all_labels(labels: Mapping[str, str]) -> Labels:
    """Return the labels of a node that has no others."""
    return lambda key: labels.get(key, MissingLabel.ABSENT)


def some_labels(labels: Mapping[str, str], lacking: Collection[str] = ()) -> Labels:
    """Return the labels of a node that may have others.

    Args:
        labels: known labels.
        lacking: keys that it certainly lacks.
    """
    return lambda key: labels.get(key, MissingLabel.ABSENT if key in lacking else MissingLabel.UNKNOWN)


class Requirement(Struct, frozen=True, kw_only=True):
    """A requirement on a label or field of a node."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, written: object) -> Requirement:
        """Parse a requirement from YAML."""
        fields = mapping(written)
        values = tuple(text(value) for value in sequence(fields.get("values")))
        return cls(key=text(fields.get("key")), operator=text(fields.get("operator")), values=values)

    def holds(self, label: LabelValue) -> Answer:
        """Return whether a node with this value meets the requirement."""
        if not self._is_valid:
            return "no"
        if label is MissingLabel.UNKNOWN:
            return "unknown"
        return "yes" if self._holds(None if label is MissingLabel.ABSENT else label) else "no"

    def may_meet(self, other: Requirement) -> bool:
        """Return True if one node may meet both; only a certain contradiction counts as no."""
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

    def _holds(self, label: str | None) -> bool:
        match self.operator:
            case "In":
                return label in self.values
            case "NotIn":
                return label not in self.values
            case "Exists":
                return label is not None
            case "DoesNotExist":
                return label is None
            case _:
                return self._compares(label)

    def _compares(self, label: str | None) -> bool:
        found, bound = _integer(label), _integer(self.values[0])
        if found is None or bound is None:
            return False
        return found > bound if self.operator == "Gt" else found < bound


class Term(Struct, frozen=True, kw_only=True):
    """Demands of which a node must meet all; a term without any is met by none."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @classmethod
    def of(cls, written: object) -> Term:
        """Parse a node selector term from YAML."""
        term = mapping(written)
        return cls(
            labels=tuple(Requirement.of(one) for one in sequence(term.get("matchExpressions"))),
            fields=tuple(Requirement.of(one) for one in sequence(term.get("matchFields"))),
        )

    def matches(self, labels: Labels, name: LabelValue) -> Answer:
        """Return whether a node with these labels and this name matches."""
        if not self.labels and not self.fields:
            return "no"
        if any(one.operator not in ("In", "NotIn") or len(one.values) != 1 for one in self.fields):
            return "no"
        on_labels = _all(one.holds(labels(one.key)) for one in self.labels)
        on_fields = _all(
            one.holds(name if one.key == _NODE_NAME else MissingLabel.ABSENT) for one in self.fields
        )
        return _all((on_labels, on_fields))


def selects(node_selector: object, labels: Labels, name: LabelValue) -> Answer:
    """Return whether a NodeSelector of core/v1 matches a node; without terms it matches none."""
    terms = sequence(mapping(node_selector).get("nodeSelectorTerms"))
    return _any(Term.of(term).matches(labels, name) for term in terms)


class RequiredNodeAffinity(Struct, frozen=True, kw_only=True):
    """A pod's node requirements: `nodeSelector`, and the required part of its node affinity.

    Attributes:
        selector: requirements that a node must all meet.
        terms: alternatives of which one is enough; None if the pod has no required node affinity.
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
        """True if it requires anything, so that not every node matches."""
        return bool(self.selector) or self.terms is not None

    @property
    def keys(self) -> frozenset[str]:
        """Every label key that it requests."""
        asked = (*self.selector, *(one for term in self.terms or () for one in term.labels))
        return frozenset(one.key for one in asked)

    def required_keys(self, labels: Mapping[str, str], candidates: Collection[str]) -> frozenset[str]:
        """Return the label keys without which a node with these labels does not match.

        Args:
            labels: the node's known labels.
            candidates: keys that the node may lack. If it needs one of several, all those are returned.
        """
        asked = (*self.selector, *(one for term in self.terms or () for one in term.labels))
        present = {one.key for one in asked if one.holds(MissingLabel.ABSENT) == "no"} & {*candidates}
        needed = {key for key in present if self.matches(some_labels(labels, (key,))) == "no"}
        none = self.matches(some_labels(labels, present)) == "no"
        return frozenset(needed or (present if none else ()))

    def matches(self, labels: Labels, name: LabelValue = MissingLabel.UNKNOWN) -> Answer:
        """Return whether a node with these labels and this name matches."""
        on_selector = _all(one.holds(labels(one.key)) for one in self.selector)
        if self.terms is None:
            return on_selector
        return _all((on_selector, _any(term.matches(labels, name) for term in self.terms)))

    def may_match(self, labels: Labels) -> bool:
        """Return True if a node with these labels may match; only labels that matter are read."""
        if _all(one.holds(labels(one.key)) for one in self.selector) == "no":
            return False
        return self.terms is None or any(
            term.matches(labels, MissingLabel.UNKNOWN) != "no" for term in self.terms
        )

    def may_meet(self, other: RequiredNodeAffinity) -> bool:
        """Return True if some node may match both."""
        return any(
            all(mine.may_meet(theirs) for mine in one for theirs in another)
            for one in self._alternatives()
            for another in other._alternatives()
        )

    def _alternatives(self) -> list[tuple[Requirement, ...]]:
        return [(*self.selector, *term.labels) for term in self.terms or (Term(),)]


def carries(key: str, value: str) -> Requirement:
    """Return the requirement that `nodeSelector` makes on a label."""
    return Requirement(key=key, operator="In", values=(value,))


def _all(answers: Iterable[Answer]) -> Answer:
    """Return the conjunction of answers; stop after the first no."""
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
    """Parse a 64-bit number as Go's ParseInt does; None if it is invalid."""
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None
