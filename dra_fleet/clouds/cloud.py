"""What the plan asks of a cloud, and where each cloud answers.

They are resolved on use, so that a stack of one cloud loads the rules, settings and facts of no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dra_fleet.drivers.driver import Release
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import ChartValues, PoolPlan, ReleasePlan
    from dra_fleet.settings.clusters import ClusterSettings
    from dra_fleet.settings.fleet import FleetSettings

    Place = tuple[str, ...]
    """A path in the stack file below the fleet's key."""

SettingsT = TypeVar("SettingsT", bound="ClusterSettings")
"""A cloud's settings of a cluster."""
Settings_contra = TypeVar("Settings_contra", bound="ClusterSettings", contravariant=True)

CLOUDS = {
    "aks": "dra_fleet.clouds.aks.plan:RULES",
    "eks": "dra_fleet.clouds.eks.plan:RULES",
    "gke": "dra_fleet.clouds.gke.plan:RULES",
    "existing": "dra_fleet.clouds.existing.plan:RULES",
}
"""Cloud -> where its rules are."""


class Check(Protocol[Settings_contra]):
    """What is wrong with a cluster of one cloud."""

    def __call__(
        self,
        name: str,
        fleet: FleetSettings,
        settings: Settings_contra,
        minor: str,
        pools: Sequence[PoolPlan],
        /,
        *,
        findings: Findings,
    ) -> None:
        """Check a cluster and its pools, apart from the releases' final values."""


def _nothing(*_: object) -> None:
    pass


def _no_values(*_: object) -> ChartValues:
    return {}


def _no_classes(_: object) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class CloudRules(Generic[SettingsT]):
    """How a cloud's settings of a cluster become a plan, and what is wrong with them there.

    Attributes:
        plan_pool: From the pool's place and name the plan of one of the cluster's pools, or None after its
            machine was refused.
        check: Checks a cluster and its pools, apart from the releases' final values.
        plan_operator: The release of the GPU Operator, where the stack asks for it.
        driver_values: What a DRA driver's chart needs on this cloud beyond the driver's own values. Gets the
            driver's name in the stack file, the release to be made, and the stack's own values, which decide
            for example whether there is a controller.
        check_values: Checks the final values of a DRA driver's release against the pools it serves. Gets the
            driver's place and name in the stack file.
        own_classes: The DeviceClasses that the cloud itself brings to a cluster.
    """

    plan_pool: Callable[[Place, str, SettingsT, Findings], PoolPlan | None]
    check: Check[SettingsT]
    plan_operator: Callable[[Place, SettingsT, Sequence[PoolPlan], Findings], ReleasePlan | None] = _nothing
    driver_values: Callable[[str, Release, SettingsT, ChartValues], ChartValues] = _no_values
    check_values: Callable[[Place, str, Sequence[PoolPlan], ReleasePlan, Findings], None] = _nothing
    own_classes: Callable[[SettingsT], tuple[str, ...]] = _no_classes


def rules_of(settings: SettingsT) -> CloudRules[SettingsT]:
    """The rules of the cloud that a cluster is on."""
    return resolve_name(CLOUDS[settings.cloud])
