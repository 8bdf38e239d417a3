"""Whether a pod may run on a pool's nodes, as far as the labels and taints that the stack knows tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dra_fleet.checking.resources import at, mapping, sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dra_fleet.kubernetes.scheduling.taints import Taint
    from dra_fleet.model.plan import PoolPlan

Answer = Literal["yes", "no", "unknown"]
_REQUIRED = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")


def selected(labels: Mapping[str, str], selector: Mapping[str, Any], affinity: object) -> Answer:
    """Whether a nodeSelector and the required part of an affinity select a node.

    Args:
        labels: the labels that are known; the node may carry others.
        selector: `nodeSelector`.
        affinity: `affinity`.
    """
    wanted: list[Answer] = [
        _labelled(labels, key, [str(value)] if not isinstance(value, bool) else [str(value).lower()])
        for key, value in selector.items()
    ]
    terms = sequence(at(affinity, _REQUIRED))
    if terms:
        wanted.append(_any(_term(labels, mapping(term)) for term in terms))
    return _all(wanted)


def label_keys(selector: Mapping[str, Any], affinity: object) -> frozenset[str]:
    """Every label key that they ask for."""
    asked = {
        str(mapping(expression).get("key"))
        for term in sequence(at(affinity, _REQUIRED))
        for expression in sequence(mapping(term).get("matchExpressions"))
    }
    return frozenset({*selector, *asked})


def not_tolerated(pool: PoolPlan, tolerations: Iterable[object]) -> list[Taint]:
    """The pool's taints that keep a pod with these tolerations away."""
    given = [mapping(item) for item in tolerations]
    return [
        taint
        for taint in pool.taints
        if taint.effect != "PreferNoSchedule" and not any(_tolerates(item, taint) for item in given)
    ]


def toleration_text(taint: Taint) -> str:
    """The toleration that answers a taint, as YAML."""
    value = f"operator: Equal, value: {taint.value}" if taint.value else "operator: Exists"
    return f"{{key: {taint.key}, {value}, effect: {taint.effect}}}"


def taint_text(taint: Taint) -> str:
    """A taint as kubectl writes it."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def _tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    if toleration.get("effect") not in (None, "", taint.effect):
        return False
    exists = toleration.get("operator") == "Exists"
    key = toleration.get("key") or ""
    if not key:
        return exists
    return key == taint.key and (exists or str(toleration.get("value") or "") == taint.value)


def _term(labels: Mapping[str, str], term: Mapping[str, Any]) -> Answer:
    return _all([_expression(labels, mapping(item)) for item in sequence(term.get("matchExpressions"))])


def _expression(labels: Mapping[str, str], expression: Mapping[str, Any]) -> Answer:
    key, operator = str(expression.get("key")), expression.get("operator")
    values = [str(value) for value in sequence(expression.get("values"))]
    if operator == "In":
        return _labelled(labels, key, values)
    if operator == "Exists":
        return "yes" if key in labels else "unknown"
    if operator == "DoesNotExist":
        return "no" if key in labels else "unknown"
    if operator == "NotIn" and key in labels:
        return "no" if labels[key] in values else "yes"
    return "unknown"


def _labelled(labels: Mapping[str, str], key: str, values: list[str]) -> Answer:
    if key not in labels:
        return "unknown"
    return "yes" if labels[key] in values else "no"


def _all(answers: Iterable[Answer]) -> Answer:
    found = set(answers)
    if "no" in found:
        return "no"
    return "unknown" if "unknown" in found else "yes"


def _any(answers: Iterable[Answer]) -> Answer:
    found = set(answers)
    if "yes" in found:
        return "yes"
    return "unknown" if "unknown" in found else "no"
