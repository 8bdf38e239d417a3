"""What the plan asks of Google Kubernetes Engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from fleet.plan.cloud import CloudRules
from fleet.plan.gke_checks import check_gke, check_gke_values
from fleet.plan.gke_pools import dranet_classes_of, plan_gke_pool
from fleet.plan.gke_releases import gke_driver_values
from fleet.settings.gke import GkeClusterSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.drivers.spec import Release
    from fleet.plan.findings import Findings
    from fleet.plan.model import ChartValues, PoolPlan, ReleasePlan
    from fleet.settings.fleet import FleetSettings


class GkeRules(CloudRules[GkeClusterSettings]):
    """Google Kubernetes Engine."""

    @override
    def plan_pool(
        self, at: tuple[str, ...], name: str, settings: GkeClusterSettings, findings: Findings
    ) -> PoolPlan | None:
        """See `plan_gke_pool`."""
        return plan_gke_pool(at, name, settings.pools[name], settings, findings)

    @override
    def check(
        self,
        name: str,
        fleet: FleetSettings,
        settings: GkeClusterSettings,
        minor: str,
        pools: Sequence[PoolPlan],
        *,
        findings: Findings,
    ) -> None:
        """See `check_gke`."""
        check_gke(name, fleet, settings, minor, pools, findings=findings)

    @override
    def driver_values(
        self, name: str, release: Release, settings: GkeClusterSettings, theirs: ChartValues
    ) -> ChartValues:
        """See `gke_driver_values`."""
        return gke_driver_values(name, release, theirs)

    @override
    def check_values(
        self,
        at: tuple[str, ...],
        name: str,
        pools: Sequence[PoolPlan],
        release: ReleasePlan,
        findings: Findings,
    ) -> None:
        """See `check_gke_values`."""
        if name in ("nvidia", "tpu"):
            check_gke_values(at, pools, release, findings)

    @override
    def own_classes(self, settings: GkeClusterSettings) -> tuple[str, ...]:
        """See `dranet_classes_of`."""
        return dranet_classes_of(settings)
