"""Whether a node can use a slice or a device.

Source:
https://github.com/kubernetes/component-helpers/blob/v0.36.3/scheduling/corev1/nodeaffinity/nodeaffinity.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dra_fleet.proof.allocator.inventory import Node

Object = Mapping[str, Any]


def matches(node: Node, selection: Object) -> bool:
    """Whether a node is meant by ``nodeName``, ``allNodes`` or ``nodeSelector``, the first that is set."""
    name = selection.get("nodeName")
    if name:
        return bool(node.name == name)
    if selection.get("allNodes"):
        return True
    selector = selection.get("nodeSelector")
    return selector is not None and any(
        _matches_term(node, term) for term in selector.get("nodeSelectorTerms") or ()
    )


def _matches_term(node: Node, term: Object) -> bool:
    expressions: Sequence[Object] = term.get("matchExpressions") or ()
    fields: Sequence[Object] = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    on_labels = all(_holds(rule, node.labels.get(rule["key"])) for rule in expressions)
    names = {"metadata.name": node.name}
    return on_labels and all(_holds(rule, names.get(rule["key"])) for rule in fields)


def _holds(rule: Object, value: str | None) -> bool:
    operator = rule["operator"]
    values: Sequence[str] = rule.get("values") or ()
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if operator == "NotIn":
        return value not in values
    if value is None:
        return False
    if operator == "In":
        return value in values
    return _compares(operator, value, values)


def _compares(operator: str, value: str, values: Sequence[str]) -> bool:
    try:
        found, bound = int(value), int(values[0])
    except ValueError:
        return False
    return found > bound if operator == "Gt" else found < bound
