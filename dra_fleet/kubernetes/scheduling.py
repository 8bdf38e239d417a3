"""Whether a DaemonSet's pods can reach a pool's nodes, by the affinity and tolerations of chart values.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#node-affinity and
https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.drivers.common.values import value_at

if TYPE_CHECKING:
    from dra_fleet.model.plan import PoolPlan, Taint

MIG_STATE = "nvidia.com/mig.config.state"
"""The label by which the MIG manager tells how far it is: pending, rebooting, success or failed."""
MIG_READY = "success"
_TERMS = "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"

Object = Mapping[str, Any]


def may_start_early(labels: Mapping[str, str], selector: object, affinity: object) -> bool:
    """Whether a pod may be placed on a node before the node's MIG partitions exist.

    Args:
        labels: those that the stack gives the node; others may add more.
        selector: the pod's `nodeSelector`.
        affinity: the pod's `affinity`; of several terms one is enough.
    """
    wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in _mapping(selector).items()]
    terms = [_mapping(term) for term in _sequence(value_at(_mapping(affinity), _TERMS))] or [{}]
    return any(
        all(_may_hold(labels, _mapping(one)) for one in [*wanted, *_sequence(term.get("matchExpressions"))])
        for term in terms
    )


def not_tolerated(pool: PoolPlan, tolerations: object) -> list[Taint]:
    """The taints of a pool that keep away a pod with these tolerations."""
    given = [_mapping(item) for item in _sequence(tolerations)]
    return [
        taint
        for taint in pool.taints
        if taint.effect != "PreferNoSchedule" and not any(_tolerates(item, taint) for item in given)
    ]


def taint_text(taint: Taint) -> str:
    """A taint as kubectl writes it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def toleration_text(taint: Taint) -> str:
    """The toleration that answers a taint, as YAML."""
    value = f"operator: Equal, value: {taint.value}" if taint.value else "operator: Exists"
    return f"{{key: {taint.key}, {value}, effect: {taint.effect}}}"


def _may_hold(labels: Mapping[str, str], expression: Object) -> bool:
    """Whether it can be true of a node whose partitions are not ready; a label that is not known may be."""
    key, operator = str(expression.get("key")), expression.get("operator")
    values = [str(value) for value in _sequence(expression.get("values"))]
    if key == MIG_STATE:
        return operator != "In" or values != [MIG_READY]
    if key not in labels:
        return True
    match operator:
        case "In":
            return labels[key] in values
        case "NotIn":
            return labels[key] not in values
        case "DoesNotExist":
            return False
        case _:
            return True


def _tolerates(toleration: Object, taint: Taint) -> bool:
    if toleration.get("effect") not in (None, "", taint.effect):
        return False
    exists = toleration.get("operator") == "Exists"
    key = toleration.get("key") or ""
    if not key:
        return exists
    return key == taint.key and (exists or str(toleration.get("value") or "") == taint.value)


def _mapping(value: object) -> Object:
    return cast("Object", value) if isinstance(value, Mapping) else {}


def _sequence(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
