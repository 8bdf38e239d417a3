"""Tolerations that the API server refuses: they are told, and taken for what was meant.

Source: https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/apis/core/validation/validation.go
(ValidateTolerations). `Lt` and `Gt` are operators behind a feature gate that is off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.check.resources import mapping
from dra_fleet.kubernetes.scheduling.taints import Toleration
from dra_fleet.kubernetes.scheduling.written import sequence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.check.pods import Pod

_OPERATORS: Final = ("Equal", "Exists")
_BEHIND_A_GATE: Final = ("Lt", "Gt")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, kw_only=True)
class _Refusal:
    """What is wrong with one toleration. `field`: which of its fields; None where it is the whole."""

    field: str | None
    what: str
    got: object
    allowed: str
    fix: str


def admitted_tolerations(pod: Pod) -> list[Toleration]:
    """A pod's own tolerations, each as the API server would take it."""
    taken: list[Toleration] = []
    for index, written in enumerate(sequence(pod.spec.get("tolerations"))):
        refused = list(_refusals(mapping(written)))
        for one in refused:
            field = () if one.field is None else (one.field,)
            pod.resource.subject.error(
                *pod.path,
                "tolerations",
                index,
                *field,
                rule="toleration-refused",
                what=one.what,
                got=str(one.got),
                allowed=one.allowed,
                fix=one.fix,
            )
        meant = Toleration.of(written)
        taken.append(replace(meant, operator="Exists") if refused and not meant.value else meant)
    return taken


def _refusals(written: Mapping[str, Any]) -> Iterator[_Refusal]:
    operator, effect, value = (written.get(key) for key in ("operator", "effect", "value"))
    if operator and operator not in (*_OPERATORS, *_BEHIND_A_GATE):
        yield _Refusal(
            field="operator",
            what="is refused: is no operator",
            got=operator,
            allowed=", ".join(_OPERATORS),
            fix="operator: Exists, or Equal with the taint's value",
        )
    elif operator == "Exists" and value:
        yield _Refusal(
            field="value",
            what="is refused: must be empty with operator Exists",
            got=value,
            allowed="no value",
            fix="leave value out, or write operator: Equal",
        )
    elif not written.get("key") and operator != "Exists":
        yield _Refusal(
            field=None,
            what="is refused: a toleration without a key must have operator Exists",
            got=operator or _OPERATORS[0],
            allowed="Exists",
            fix="operator: Exists, which tolerates every taint, or name the taint's key",
        )
    if effect and effect not in _EFFECTS:
        yield _Refusal(
            field="effect",
            what="is refused: is no effect",
            got=effect,
            allowed=", ".join(_EFFECTS),
            fix="the taint's effect, or none for every effect",
        )
    elif written.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield _Refusal(
            field="effect",
            what="is refused: must be NoExecute where tolerationSeconds is given",
            got=effect,
            allowed="NoExecute",
            fix="leave tolerationSeconds out, or write effect: NoExecute",
        )
