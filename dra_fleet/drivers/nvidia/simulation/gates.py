"""Feature gates of the NVIDIA driver's binaries: parsing, defaults and the conflicts they refuse at start.

Which gates a version has and what they exclude are facts of the catalogue.
Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, main of 2026-08-07,
`pkg/featuregates/featuregates.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.nvidia.driver import DRIVER
from dra_fleet.rehearsal.drivers.plugin import StartFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.drivers.common.facts import ChartVersion

NOT_REHEARSED = ("PassthroughSupport", "FabricManagerPartitioning")
"""Gates that change the published devices in a way the rehearsal does not make up."""


def chart_version(version: str) -> ChartVersion:
    """Return the facts of a driver's version; for an unknown version, those of the newest."""
    driver = DRIVER.facts
    return driver.version(version) or driver.versions[-1]


def feature_gates(environment: Mapping[str, str], version: str) -> Mapping[str, bool]:
    """All gates with their values, from the container's FEATURE_GATES.

    Args:
        environment: the container's.
        version: of the driver, such as "0.5.0"; one the catalogue does not know counts as the newest.

    Raises:
        StartFailed: an unknown gate, a value that is not a boolean, gates that exclude each other, or a gate
            that a rehearsal cannot follow.
    """
    chart = chart_version(version)
    gates = dict(chart.feature_gates)
    for part in filter(None, environment.get("FEATURE_GATES", "").split(",")):
        name, _, value = part.strip().partition("=")
        if name not in gates:
            raise StartFailed(f"failed to set feature gates: unrecognized feature gate: {name}")
        if value not in ("true", "false"):
            raise StartFailed(f"failed to set feature gates: invalid value of {name}={value}: not a boolean")
        gates[name] = value == "true"
    _refuse_conflicts(gates, chart.version)
    return gates


def _refuse_conflicts(gates: Mapping[str, bool], version: str) -> None:
    for conflict in DRIVER.facts.gate_conflicts_in(version):
        other = gates.get(conflict.other, False)
        if not gates.get(conflict.gate, False) or other == (conflict.rule == "requires"):
            continue
        wish = (
            f"requires {conflict.other} to also be enabled"
            if conflict.rule == "requires"
            else f"is currently mutually exclusive with {conflict.other}"
        )
        raise StartFailed(f"feature gate validation failed: feature gate {conflict.gate} {wish}")


def refuse_what_is_not_rehearsed(gates: Mapping[str, bool]) -> None:
    """Say so instead of publishing something the real driver would not.

    Raises:
        StartFailed: a gate is on whose devices the rehearsal does not make up.
    """
    for gate in NOT_REHEARSED:
        if gates.get(gate, False):
            raise StartFailed(
                f"(rehearsal) feature gate {gate} changes the published devices in a way that is not "
                "simulated; rehearse without it"
            )
