"""The feature gates given to a DRA driver's chart go together.

The driver checks them when it starts: with two that exclude each other every one of its pods crash-loops, and
no devices are published anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.drivers.common.facts import GateConflict
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.rule import Settings

GATES: Final = "featureGates"
EXCLUDES: Final = "excludes"


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find pairs of gates that the driver refuses; a gate that is not given has the chart's default."""
    del settings
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


RULE = ResourceRule(
    name="chart-forbid-gate-conflicts",
    description=(
        "Charts of DRA drivers have no feature gates that exclude each other, because the driver checks "
        "its gates at start and crash-loops."
    ),
    fix="Disable one of the two gates, or enable the gate that the other one needs.",
    link="https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/main/pkg/featuregates/featuregates.go",
    severity="high",
    types=RELEASE_TYPES,
    check=check,
)
