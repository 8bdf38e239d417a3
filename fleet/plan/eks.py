"""What the plan asks of Elastic Kubernetes Service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from fleet.plan.cloud import CloudRules
from fleet.plan.eks_checks import check_eks, check_eks_values
from fleet.plan.eks_pools import plan_eks_pool
from fleet.plan.eks_releases import eks_driver_values
from fleet.plan.gpu_operator import plan_gpu_operator
from fleet.settings.eks import EksClusterSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.drivers.spec import Release
    from fleet.plan.findings import Findings
    from fleet.plan.model import ChartValues, PoolPlan, ReleasePlan
    from fleet.settings.fleet import FleetSettings


class EksRules(CloudRules[EksClusterSettings]):
    """Elastic Kubernetes Service."""

    @override
    def plan_pool(
        self, at: tuple[str, ...], name: str, settings: EksClusterSettings, findings: Findings
    ) -> PoolPlan | None:
        """See `plan_eks_pool`."""
        return plan_eks_pool(at, name, settings.pools[name], findings)

    @override
    def check(
        self,
        name: str,
        fleet: FleetSettings,
        settings: EksClusterSettings,
        minor: str,
        pools: Sequence[PoolPlan],
        *,
        findings: Findings,
    ) -> None:
        """See `check_eks`."""
        check_eks(name, fleet, settings, minor, pools, findings=findings)

    @override
    def plan_operator(
        self, at: tuple[str, ...], settings: EksClusterSettings, pools: Sequence[PoolPlan], findings: Findings
    ) -> ReleasePlan | None:
        """See `plan_gpu_operator`; on the node images of EKS the handler is called nvidia."""
        if settings.gpu_operator is None:
            return None
        return plan_gpu_operator(at, settings.gpu_operator, pools, findings, host_runtime="nvidia")

    @override
    def driver_values(
        self, name: str, release: Release, settings: EksClusterSettings, theirs: ChartValues
    ) -> ChartValues:
        """See `eks_driver_values`."""
        discovers = settings.gpu_operator is not None
        return eks_driver_values(name, release, theirs, discovers_features=discovers)

    @override
    def check_values(
        self,
        at: tuple[str, ...],
        name: str,
        pools: Sequence[PoolPlan],
        release: ReleasePlan,
        findings: Findings,
    ) -> None:
        """See `check_eks_values`."""
        check_eks_values(at, pools, release, findings)
