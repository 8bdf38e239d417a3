"""A sharing strategy is chosen only where the driver has its feature gate on.

The API server stores any opaque configuration. Without the gate the driver refuses it when a pod starts, and
the pod stays in ContainerCreating.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.reading.claims import SELECTING_TYPES
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.reading.partitions import shared
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.rule import Settings

GATES: Final = "featureGates"


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find configurations for which a driver of the same cluster has the gate off."""
    del settings
    homes = Homes(stack)
    releases = [found for resource in stack.of(RELEASE_TYPES) if (found := release(resource)) is not None]
    for resource in stack.of(SELECTING_TYPES):
        for facts, strategy in shared(resource):
            gate = facts.sharing_gates.get(strategy.text or "")
            for installed in releases:
                if gate and installed.driver is facts and homes.together(resource, installed.resource):
                    yield from _check(resource, strategy.place, gate, installed, homes)


def _check(
    resource: Resource, place: str, gate: str, installed: ChartRelease, homes: Homes
) -> Iterator[Finding]:
    value = installed.value(f"{GATES}.{gate}")
    version = installed.driver_version
    if version is not None and gate not in version.feature_gates:
        return  # versions without the gate share without asking
    default = version is not None and version.feature_gates[gate]
    if value.flag or value.unknown or (value.absent and default):
        return
    if homes.undecided(resource, installed.resource):
        return  # noted: whether it is this driver's claim is not known
    yield Finding(
        installed.resource,
        value,
        f"is {value.shown}, and {resource.name} needs it at {place}",
        f"{gate}: true where a class or claim chooses the strategy",
        f"set {GATES}.{gate}: true in the chart's values, or take the strategy out of {resource.name}",
    )


RULE = StackRule(
    name="sharing-require-driver-gates",
    description=(
        "The chart of a driver enables the feature gate of each sharing strategy in use, because the "
        "driver otherwise rejects the claim when its pod starts."
    ),
    fix="Set the strategy's feature gate in the chart's values.",
    link="https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu",
    severity="high",
    check=check,
)
