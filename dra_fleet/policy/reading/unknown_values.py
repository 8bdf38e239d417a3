"""Values given to a chart that a version of it lacks, or has of another type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.policy.rule import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.core.declared.values import Value
    from dra_fleet.core.findings.errors import Refusal
    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.policy.reading.charts import ChartRelease


def unknown_values(resource: Resource, installed: ChartRelease, version: ChartVersion) -> Iterator[Finding]:
    """Find values that a version of a chart lacks, or has of another type."""
    for value in _dotted(version, installed.values, ""):
        nested = ": {".join(str(value.path[-1]).split("."))
        yield Finding(
            resource,
            value,
            "is one key with dots in it, which Helm ignores silently",
            "one key below the other",
            f"write {nested}: …{'}' * nested.count('{')}",
        )
    for refusal in check_values(version, _sketch(version, installed.values, "")):
        yield _finding(resource, installed, refusal)


def _finding(resource: Resource, installed: ChartRelease, refusal: Refusal) -> Finding:
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
    """Return the values that the chart requires; unknown ones are noted and omitted."""
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
            found[name] = {} if kind is not None else _sketch(version, value, f"{key}.")
        else:
            found[name] = [] if isinstance(known, list) else known
    return found
