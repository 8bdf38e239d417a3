"""What the plan asks of a cloud, and where each cloud answers.

They are resolved on use, so that a stack of one cloud loads the rules, settings and facts of no other.
"""

# ruff: noqa: ARG002 - clouds that have nothing to add inherit what ignores its arguments

from __future__ import annotations

from abc import ABC, abstractmethod
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.drivers.spec import Release
    from fleet.plan.findings import Findings
    from fleet.plan.model import ChartValues, PoolPlan, ReleasePlan
    from fleet.settings.clusters import ClusterSettings
    from fleet.settings.fleet import FleetSettings

SettingsT = TypeVar("SettingsT", bound="ClusterSettings")
"""A cloud's settings of a cluster."""

CLOUDS = {
    "aks": "fleet.plan.aks:AksRules",
    "eks": "fleet.plan.eks:EksRules",
    "gke": "fleet.plan.gke:GkeRules",
    "existing": "fleet.plan.existing:ExistingRules",
}
"""Cloud -> where its rules are."""


class CloudRules(ABC, Generic[SettingsT]):
    """How a cloud's settings of a cluster become a plan, and what is wrong with them there.

    `at` is always the path in the stack file below the fleet's key, and `findings` collects the problems.
    """

    @abstractmethod
    def plan_pool(
        self, at: tuple[str, ...], name: str, settings: SettingsT, findings: Findings
    ) -> PoolPlan | None:
        """The plan of one of the cluster's pools, or None after its machine was refused."""

    @abstractmethod
    def check(
        self,
        name: str,
        fleet: FleetSettings,
        settings: SettingsT,
        minor: str,
        pools: Sequence[PoolPlan],
        *,
        findings: Findings,
    ) -> None:
        """Check a cluster and its pools, apart from the releases' final values."""

    def plan_operator(
        self, at: tuple[str, ...], settings: SettingsT, pools: Sequence[PoolPlan], findings: Findings
    ) -> ReleasePlan | None:
        """The release of the GPU Operator, where the stack asks for it."""
        return None

    def driver_values(
        self, name: str, release: Release, settings: SettingsT, theirs: ChartValues
    ) -> ChartValues:
        """What a DRA driver's chart needs on this cloud beyond the driver's own values.

        Args:
            name: the driver's name in the stack file.
            release: the release to be made.
            settings: of the cluster.
            theirs: the stack's own values, which decide for example whether there is a controller.
        """
        return {}

    def check_values(
        self,
        at: tuple[str, ...],
        name: str,
        pools: Sequence[PoolPlan],
        release: ReleasePlan,
        findings: Findings,
    ) -> None:
        """Check a DRA driver's final values against the pools it serves."""

    def own_classes(self, settings: SettingsT) -> tuple[str, ...]:
        """The DeviceClasses that the cloud itself brings to a cluster."""
        return ()


def rules_of(settings: SettingsT) -> CloudRules[SettingsT]:
    """The rules of the cloud that a cluster is on."""
    rules: type[CloudRules[SettingsT]] = resolve_name(CLOUDS[settings.cloud])
    return rules()
