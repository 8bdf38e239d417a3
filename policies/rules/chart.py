"""Rules on releases of charts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.advertisers import plugin_of
from dra_fleet.policy.reading.charts import INSTALLED_TYPES, RELEASE_TYPES, RENDERED_TYPES, release, rendered
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.core.declared.values import Value
    from dra_fleet.core.findings.errors import Refusal
    from dra_fleet.drivers.common.facts import ChartVersion, GateConflict
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.rule import Settings


# Charts of DRA drivers need no API that a later Kubernetes version removes. An upgrade of the cluster stops
# such a driver: its devices are then no longer allocated.
def _avoid_removed_apis(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    installed = release(resource) or rendered(resource)
    version = None if installed is None else installed.known_version
    if installed is None or version is None:
        return
    facts = kubernetes_facts()
    for change in facts.changes:
        if change.removes and change.removes in version.needs_apis:
            remover = f"Kubernetes {facts.dated(change.minor)}"
            yield Finding(
                resource,
                installed.chart,
                f"{version.version} needs {change.removes}, which {remover} removes",
                "a version that needs resource.k8s.io/v1 only",
                change.fix,
            )


AVOID_REMOVED_APIS = ResourceRule(
    name="chart-avoid-removed-apis",
    description=(
        "Charts of DRA drivers need no API that a later Kubernetes version removes, because an upgrade of "
        "the cluster stops the driver."
    ),
    fix="Use a version of the driver without the API, or stay on a Kubernetes version that serves it.",
    link="https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
    severity="medium",
    standard="advisory",
    types=re.compile(f"{INSTALLED_TYPES.pattern}|{RENDERED_TYPES.pattern}"),
    check=_avoid_removed_apis,
)


# The driver checks them when it starts: with two that exclude each other every one of its pods crash-loops,
# and no devices are published anywhere.

GATES: Final = "featureGates"
EXCLUDES: Final = "excludes"


def _forbid_gate_conflicts(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    installed = release(resource)
    driver = None if installed is None else installed.driver
    if installed is None or driver is None:
        return
    version = installed.driver_version
    conflicts = driver.gate_conflicts if version is None else driver.gate_conflicts_in(version.version)
    for conflict in conflicts:
        yield from _check(resource, installed, conflict)


def _check(resource: Resource, installed: ChartRelease, conflict: GateConflict) -> Iterator[Finding]:
    gate, other = conflict.gate, conflict.other
    if not _is_on(installed, gate):
        return
    second = _is_on(installed, other)
    if second is None or second != (conflict.rule == EXCLUDES):
        return
    excludes = conflict.rule == EXCLUDES
    if excludes:
        problem, fix = f"excludes {other}, which is on too", f"set {gate} or {other} to false"
    else:
        problem, fix = f"needs {other}, which is off", f"set {other}: true, or {gate}: false as well"
    yield Finding(
        resource,
        installed.value(f"{GATES}.{gate}"),
        f"{problem}; every pod of the driver would crash-loop",
        f"one of {gate} and {other}" if excludes else f"{gate} together with {other}",
        fix,
    )


def _is_on(installed: ChartRelease, gate: str) -> bool | None:
    """Return True if a gate is on; None if unknown."""
    given = installed.value(f"{GATES}.{gate}")
    if not given.absent:
        return given.flag
    version = installed.driver_version
    return None if version is None else version.feature_gates.get(gate, False)


FORBID_GATE_CONFLICTS = ResourceRule(
    name="chart-forbid-gate-conflicts",
    description=(
        "Charts of DRA drivers have no feature gates that exclude each other, because the driver checks "
        "its gates at start and crash-loops."
    ),
    fix="Disable one of the two gates, or enable the gate that the other one needs.",
    link="https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/main/pkg/featuregates/featuregates.go",
    severity="high",
    types=RELEASE_TYPES,
    check=_forbid_gate_conflicts,
)


# Helm ignores a key that a chart does not know silently: `resources-computeDomains.enabled` for
# `resources.computeDomains.enabled` leaves on what was meant to be off. Checked for the versions of charts
# that the catalogue knows; values without a fixed form, such as an affinity, are not checked. Files with
# values are read if they exist and are unchanged; otherwise they are reported as unknown.
def _forbid_unknown_values(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    installed = release(resource)
    if installed is None or not installed.catalogued:
        return
    for file in installed.unread:
        resource.unknowns[file.place] = None
    version = installed.known_version
    if version is not None:
        yield from unknown_values(resource, installed, version)


FORBID_UNKNOWN_VALUES = ResourceRule(
    name="chart-forbid-unknown-values",
    description=(
        "Charts of DRA drivers and of the GPU Operator get only values that their version has, because "
        "Helm ignores others silently."
    ),
    fix="Correct the key or the type. The message names the nearest one.",
    link="https://helm.sh/docs/chart_template_guide/values_files/",
    severity="high",
    types=RELEASE_TYPES,
    check=_forbid_unknown_values,
)


# The charts that advertise GPUs are installed in one exact version. Without a version, or with a range, Helm
# takes the newest one of the moment: the same program installs another driver next week, on production
# before anyone has tried it.
def _pin_version(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    installed = release(resource)
    if installed is None or not (installed.known_versions or plugin_of(installed)):
        return
    version = installed.version
    if installed.is_pinned or version.unknown:
        return
    known = installed.known_versions
    yield Finding(
        resource,
        version,
        f"is {version.shown}, so Helm takes whichever version is the newest",
        "one whole version",
        f"set {version.path[-1]}: " + (f'"{known[-1]}"' if known else "the one that you have tested"),
    )


PIN_VERSION = ResourceRule(
    name="chart-pin-version",
    description=(
        "Charts of DRA drivers, of the GPU Operator and of device plugins have an exact version, because "
        "Helm otherwise installs the version that is newest on the day of the run."
    ),
    fix="Set the chart's version to one full version.",
    link="https://helm.sh/docs/helm/helm_install/",
    severity="high",
    types=RELEASE_TYPES,
    check=_pin_version,
)


# Charts of DRA drivers and operators have versions that the catalogue knows. Of another version, values and
# tolerations of the plugin are unknown: the rules that need them report nothing, which proves nothing. The
# nearest known version is used instead, and the findings name it. They are advisory.
def _require_known_version(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    installed = release(resource) or rendered(resource)
    nearest = None if installed is None else installed.nearest_version
    if installed is None or nearest is None or installed.known_version is not None:
        return
    if installed.version.unknown:
        return
    if installed.is_pinned:
        in_chart = installed.version.absent and installed.version_text
        reported = installed.chart if in_chart else installed.version
        why = "" if reported.absent else ", which is not in the catalogue"
        yield Finding(
            resource,
            reported,
            f"is {reported.shown}{why}, "
            f"so the values of {installed.chart_name} are checked by {nearest.version}",
            ", ".join(installed.known_versions),
            "use one of these, or compare the values with the chart's own values.yaml",
        )
    if RELEASE_TYPES.fullmatch(resource.type):
        for found in unknown_values(resource, installed, nearest):
            yield replace(found, problem=f"{found.problem} (checked by {nearest.version})")


REQUIRE_KNOWN_VERSION = ResourceRule(
    name="chart-require-known-version",
    description=(
        "Charts of DRA drivers and of the GPU Operator have a version from the catalogue, because the "
        "values of an unknown version can only be compared with the nearest known version."
    ),
    fix="Use a version from the catalogue, or compare the values with the chart.",
    link="https://helm.sh/docs/chart_template_guide/values_files/",
    severity="low",
    standard="advisory",
    types=re.compile(f"{INSTALLED_TYPES.pattern}|{RENDERED_TYPES.pattern}"),
    check=_require_known_version,
)

RULES = (AVOID_REMOVED_APIS, FORBID_GATE_CONFLICTS, FORBID_UNKNOWN_VALUES, PIN_VERSION, REQUIRE_KNOWN_VERSION)


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
