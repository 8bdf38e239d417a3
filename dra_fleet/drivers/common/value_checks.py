"""Chart values checked as typed, dotted keys of one chart version. Helm ignores unknown keys; we do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from dra_fleet.core.findings.errors import choices, mistyped, shown
from dra_fleet.core.findings.refusal import Refusal
from dra_fleet.drivers.common.value_types import KINDS, told_wrong
from dra_fleet.drivers.common.values import value_at

if TYPE_CHECKING:
    from dra_fleet.drivers.base import Release
    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.model.plan import ChartValues


def check_values(version: ChartVersion, values: ChartValues) -> list[Refusal]:
    """Every key the chart version lacks and every value of a wrong type; null is allowed everywhere."""
    return _check(version, values, "")


def default_namespace(release: Release, final: ChartValues) -> list[Refusal]:
    """What charts say that refuse the namespace `default` unless a value allows it."""
    if release.namespace != "default" or value_at(final, "allowDefaultNamespace", default=False):
        return []
    return [
        Refusal(
            path="allowDefaultNamespace",
            what="must be true to install into the namespace default; the chart refuses otherwise",
            fix="choose another namespace",
        )
    ]


def _check(version: ChartVersion, values: ChartValues, prefix: str) -> list[Refusal]:
    refusals: list[Refusal] = []
    for name, value in values.items():
        key = f"{prefix}{name}"
        if key in version.values:
            refusals += _check_type(version, key, value)
        elif any(known.startswith(f"{key}.") for known in version.values):
            refusals += _check_section(version, key, value)
        else:
            refusals.append(_unknown(version, key))
    return refusals


def _check_section(version: ChartVersion, key: str, value: object) -> list[Refusal]:
    if value is None:
        return []
    if not isinstance(value, Mapping):
        return [Refusal(path=key, what="must be a mapping", got=shown(value), allowed="a mapping")]
    return _check(version, cast("ChartValues", value), f"{key}.")


def _check_type(version: ChartVersion, key: str, value: object) -> list[Refusal]:
    told = version.values[key]
    held, words = KINDS[told].held, KINDS[told].words
    if value is None:
        return []
    if not isinstance(value, held) or (held is int and isinstance(value, bool)):
        return [Refusal(path=key, what=f"must be {words}", got=shown(value), allowed=words)]
    if told != "booleans":
        return [
            Refusal(
                path=f"{key}.{below}".replace(".[", "[") if below else key,
                what="is no value that the API server or the driver takes",
                got=got,
                allowed=allowed,
            )
            for below, got, allowed in told_wrong(told, value)
        ]
    return [
        refusal
        for gate, on in cast("Mapping[str, object]", value).items()
        for refusal in _check_gate(version, f"{key}.{gate}", gate, on)
    ]


def _check_gate(version: ChartVersion, key: str, gate: str, on: object) -> list[Refusal]:
    if gate not in version.feature_gates:
        return [
            Refusal(
                path=key,
                what=f"is no feature gate of chart {version.version}; the driver would not start",
                got=gate,
                allowed=choices(gate, version.feature_gates),
                fix=mistyped(gate, version.feature_gates),
            )
        ]
    if not isinstance(on, bool):
        return [Refusal(path=key, what="must be true or false", got=shown(on), allowed="true or false")]
    return []


def _unknown(version: ChartVersion, key: str) -> Refusal:
    sections = {known.rpartition(".")[0] for known in version.values} - {""}
    names = [*version.values, *sections]
    return Refusal(
        path=key,
        what=f"is no value of chart {version.version}; Helm would ignore it without a word",
        got=key,
        allowed=choices(key, names),
        fix=mistyped(key.replace("-", "."), names) or "remove it",
    )
