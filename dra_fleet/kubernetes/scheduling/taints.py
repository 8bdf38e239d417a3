"""Tolerations of a pod against taints of nodes, and the tolerations that taints require.

Source: https://github.com/kubernetes/api/blob/v0.36.3/core/v1/toleration.go; taints of devices are alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a mapping, otherwise an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def text(value: object) -> str:
    """Return the value as text, as a chart's template prints it; "" for null."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]

KEEPING_OFF: Final = ("NoSchedule", "NoExecute")
"""Effects of taints that keep pods off; `PreferNoSchedule` keeps off no one."""


class Taint(Struct, frozen=True, kw_only=True, order=True):
    """A taint of a node or a device. `effect`: empty where it is not known."""

    key: str
    value: str = ""
    effect: str

    @classmethod
    def of(cls, written: object) -> Taint:
        """Parse a taint from YAML."""
        fields = mapping(written)
        return cls(
            key=text(fields.get("key")), value=text(fields.get("value")), effect=text(fields.get("effect"))
        )

    def __str__(self) -> str:
        """Return the taint as kubectl writes it."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"

    @property
    def keeps_off(self) -> bool:
        """True if it keeps pods without a toleration off."""
        return self.effect in KEEPING_OFF


class Toleration(Struct, frozen=True, kw_only=True):
    """A toleration of taints; an empty key with `Exists` covers every taint, no effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str | None = None

    @classmethod
    def of(cls, written: object) -> Toleration:
        """Parse a toleration from YAML; the operator defaults to Equal."""
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
        """True if the API server accepts a pod with it: without a key it needs the operator Exists."""
        return bool(self.key) or self.operator == "Exists"

    def tolerates(self, taint: Taint) -> bool:
        """Return True if it covers a taint; the operators Lt and Gt are behind a feature gate that is off."""
        if self.effect not in (None, taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == "Exists" or (self.operator == "Equal" and self.value == taint.value)

    def may_tolerate(self, key: str, effect: Effect = "NoSchedule") -> bool:
        """Return True if a pod with it may run on nodes with a taint of that key and an unknown value."""
        return self.is_admitted and self.key in ("", key) and self.effect in (None, effect)


def untolerated_taints(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> list[Taint]:
    """Return the taints that keep a pod with these tolerations off a node."""
    given = [one for one in tolerations if one.is_admitted]
    return [taint for taint in taints if taint.keeps_off and not any(one.tolerates(taint) for one in given)]


def tolerations(written: object) -> list[Toleration]:
    """Parse a list of tolerations from YAML."""
    return [Toleration.of(one) for one in sequence(written)]


def tolerations_for(taints: Iterable[Taint], beside: Iterable[Toleration] = ()) -> tuple[Toleration, ...]:
    """Return the missing tolerations for nodes with these taints, one per taint, in stable order.

    Args:
        taints: taints of the nodes.
        beside: existing tolerations.
    """
    return tuple(
        Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
        for taint in sorted(set(untolerated_taints(taints, beside)))
    )


def toleration_list(taints: Iterable[Taint], first: Iterable[Mapping[str, str]] = ()) -> list[dict[str, str]]:
    """Return the tolerations that taints require, as plain YAML values.

    Args:
        taints: taints of the nodes.
        first: existing tolerations, put first; their taints are not repeated.
    """
    given = [dict(one) for one in first]
    needed = tolerations_for(taints, tolerations(given))
    return [*given, *(one.written for one in needed)]


def toleration_text(taint: Taint) -> str:
    """Return the toleration of a taint, as YAML."""
    value = f"operator: Equal, value: {taint.value}" if taint.value else "operator: Exists"
    return f"{{key: {taint.key}, {value}, effect: {taint.effect}}}"


def sequence(value: object) -> Sequence[object]:
    """Return the value if it is a list, otherwise an empty one."""
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
