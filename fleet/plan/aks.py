"""What the plan asks of Azure Kubernetes Service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from fleet.plan.aks_checks import check_aks, check_aks_values
from fleet.plan.aks_pools import plan_aks_pool
from fleet.plan.aks_releases import aks_driver_values
from fleet.plan.cloud import CloudRules
from fleet.plan.gpu_operator import plan_gpu_operator
from fleet.settings.aks import AksClusterSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.drivers.spec import Release
    from fleet.plan.findings import Findings
    from fleet.plan.model import ChartValues, PoolPlan, ReleasePlan
    from fleet.settings.fleet import FleetSettings


class AksRules(CloudRules[AksClusterSettings]):
    """Azure Kubernetes Service."""

    @override
    def plan_pool(
        self, at: tuple[str, ...], name: str, settings: AksClusterSettings, findings: Findings
    ) -> PoolPlan | None:
        """See `plan_aks_pool`."""
        return plan_aks_pool(at, name, settings.pools[name], findings)

    @override
    def check(
        self,
        name: str,
        fleet: FleetSettings,
        settings: AksClusterSettings,
        minor: str,
        pools: Sequence[PoolPlan],
        *,
        findings: Findings,
    ) -> None:
        """See `check_aks`."""
        check_aks(name, fleet, settings, minor, pools, findings=findings)

    @override
    def plan_operator(
        self, at: tuple[str, ...], settings: AksClusterSettings, pools: Sequence[PoolPlan], findings: Findings
    ) -> ReleasePlan | None:
        """See `plan_gpu_operator`."""
        if settings.gpu_operator is None:
            return None
        return plan_gpu_operator(at, settings.gpu_operator, pools, findings)

    @override
    def driver_values(
        self, name: str, release: Release, settings: AksClusterSettings, theirs: ChartValues
    ) -> ChartValues:
        """See `aks_driver_values`."""
        return aks_driver_values(name, release, theirs)

    @override
    def check_values(
        self,
        at: tuple[str, ...],
        name: str,
        pools: Sequence[PoolPlan],
        release: ReleasePlan,
        findings: Findings,
    ) -> None:
        """See `check_aks_values`."""
        if name == "nvidia":
            check_aks_values(at, pools, release, findings)
