"""The values given to a chart are values that it has, of their types.

Helm ignores a key that a chart does not know without a word: `resources-computeDomains.enabled` for
`resources.computeDomains.enabled` leaves on what was meant to be off. Judged for the versions of charts that
the catalogue knows; what a chart leaves free, such as an affinity, is not looked into.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Resource
    from dra_fleet.declared.values import Value
    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.findings.refusal import Refusal
    from dra_fleet.policy.reading.charts import Release
    from dra_fleet.policy.rule import Settings


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find keys that the chart's version lacks, and values of a wrong type."""
    del settings
    installed = release(resource)
    version = None if installed is None else installed.known_version
    if installed is None or version is None:
        return
    for value in _dotted(version, installed.values, ""):
        nested = ": {".join(str(value.path[-1]).split("."))
        yield Finding(
            resource,
            value,
            "is one key with dots in it, which Helm ignores without a word",
            "one key below the other",
            f"write {nested}: …{'}' * nested.count('{')}",
        )
    for refusal in check_values(version, _sketch(version, installed.values, "")):
        yield _finding(resource, installed, refusal)


def _finding(resource: Resource, installed: Release, refusal: Refusal) -> Finding:
    place = installed.value(refusal.path)
    mistyped = refusal.what.startswith("must")
    return Finding(
        resource,
        place,
        f"is {place.shown} and {refusal.what}" if mistyped else refusal.what,
        refusal.allowed,
        refusal.fix or (f"write {refusal.allowed}" if mistyped else "remove it"),
    )


def _dotted(version: ChartVersion, values: Value, prefix: str) -> Iterator[Value]:
    for name, value in values.entries:
        if "." in name:
            yield value
        elif f"{prefix}{name}" not in version.values:
            yield from _dotted(version, value, f"{prefix}{name}.")


def _sketch(version: ChartVersion, values: Value, prefix: str) -> Mapping[str, object]:
    """The values as far as the chart says what they must be; unknown ones, which are noted, are left out."""
    found: dict[str, object] = {}
    for name, value in values.entries:
        key = f"{prefix}{name}"
        kind = version.values.get(key)
        if "." in name or (value.unknown and kind is not None):
            continue
        known = value.known
        if kind == "booleans" and value.entries:
            found[name] = {gate: True if on.unknown else on.known for gate, on in value.entries}
        elif isinstance(known, Mapping):
            found[name] = {} if kind == "map" else _sketch(version, value, f"{key}.")
        else:
            found[name] = [] if isinstance(known, list) else known
    return found


RULE = ResourceRule(
    name="chart-forbid-unknown-values",
    description=(
        "Values given to charts of DRA drivers and of the GPU Operator exist in that version of the chart, "
        "because Helm ignores the others without a word."
    ),
    fix="Correct the key or the type; the message names the nearest one.",
    link="https://helm.sh/docs/chart_template_guide/values_files/",
    severity="high",
    types=RELEASE_TYPES,
    judge=judge,
)
