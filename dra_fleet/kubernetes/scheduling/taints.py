"""Whether a pod's tolerations let it onto nodes with taints, and the tolerations that taints need.

Source: https://github.com/kubernetes/api/blob/v0.36.3/core/v1/toleration.go; taints of devices are alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

if TYPE_CHECKING:
    from collections.abc import Iterable


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def text(value: object) -> str:
    """The value as text, as a chart's template prints it; nothing for null."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]

KEEPING_OFF: Final = ("NoSchedule", "NoExecute")
"""Effects of taints that keep pods off; `PreferNoSchedule` keeps off nobody."""


@dataclass(frozen=True, kw_only=True, order=True)
class Taint:
    """A taint of a node or a device. `effect`: empty where it is not known."""

    key: str
    value: str = ""
    effect: str

    @classmethod
    def of(cls, written: object) -> Taint:
        """A taint as it is written in YAML."""
        fields = mapping(written)
        return cls(
            key=text(fields.get("key")), value=text(fields.get("value")), effect=text(fields.get("effect"))
        )

    def __str__(self) -> str:
        """The taint as kubectl writes it."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"

    @property
    def keeps_off(self) -> bool:
        """Whether it keeps pods without a toleration off."""
        return self.effect in KEEPING_OFF


@dataclass(frozen=True, kw_only=True)
class Toleration:
    """A toleration of taints; an empty key with `Exists` covers every taint, no effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str | None = None

    @classmethod
    def of(cls, written: object) -> Toleration:
        """A toleration as it is written in YAML; the operator is Equal unless given."""
        fields = mapping(written)
        return cls(
            key=text(fields.get("key")),
            operator=text(fields.get("operator")) or "Equal",
            value=text(fields.get("value")),
            effect=text(fields.get("effect")) or None,
        )

    @property
    def written(self) -> dict[str, str]:
        """The toleration as it is written in YAML."""
        effect = {} if self.effect is None else {"effect": self.effect}
        return {"key": self.key, "operator": self.operator, "value": self.value, **effect}

    @property
    def is_admitted(self) -> bool:
        """Whether the API server takes a pod with it: without a key it must have the operator Exists."""
        return bool(self.key) or self.operator == "Exists"

    def tolerates(self, taint: Taint) -> bool:
        """Whether it covers a taint; the operators Lt and Gt are behind a feature gate that is off."""
        if self.effect not in (None, taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == "Exists" or (self.operator == "Equal" and self.value == taint.value)

    def may_tolerate(self, key: str, effect: Effect = "NoSchedule") -> bool:
        """Whether a pod with it may run on nodes with a taint of that key, whose value nobody knows."""
        return self.is_admitted and self.key in ("", key) and self.effect in (None, effect)


def untolerated_taints(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> list[Taint]:
    """The taints that keep a pod with these tolerations off a node."""
    given = [one for one in tolerations if one.is_admitted]
    return [taint for taint in taints if taint.keeps_off and not any(one.tolerates(taint) for one in given)]


def tolerations(written: object) -> list[Toleration]:
    """A list of tolerations as it is written in YAML."""
    return [Toleration.of(one) for one in sequence(written)]


def tolerations_for(taints: Iterable[Taint], beside: Iterable[Toleration] = ()) -> tuple[Toleration, ...]:
    """What a pod must tolerate to run on nodes with these taints, one toleration each, in stable order.

    Args:
        taints: those of the nodes.
        beside: what it tolerates already.
    """
    return tuple(
        Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
        for taint in sorted(set(untolerated_taints(taints, beside)))
    )


def toleration_list(taints: Iterable[Taint], first: Iterable[Mapping[str, str]] = ()) -> list[dict[str, str]]:
    """The tolerations that taints need, as YAML holds them.

    Args:
        taints: those of the nodes.
        first: tolerations that come first; what they cover is not repeated.
    """
    given = [dict(one) for one in first]
    needed = tolerations_for(taints, tolerations(given))
    return [*given, *(one.written for one in needed)]


def toleration_text(taint: Taint) -> str:
    """The toleration that answers a taint, as YAML."""
    value = f"operator: Equal, value: {taint.value}" if taint.value else "operator: Exists"
    return f"{{key: {taint.key}, {value}, effect: {taint.effect}}}"


def sequence(value: object) -> Sequence[object]:
    """The value if it is a list, else an empty one."""
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
