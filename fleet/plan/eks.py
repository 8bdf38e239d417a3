"""What the plan asks of Elastic Kubernetes Service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.nvidia.operator import plan_gpu_operator
from fleet.plan.cloud import CloudRules
from fleet.plan.eks_checks import check_eks, check_eks_values
from fleet.plan.eks_pools import plan_eks_pool
from fleet.plan.eks_releases import eks_driver_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.driver import Release
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import ChartValues, PoolPlan, ReleasePlan
    from fleet.settings.eks import EksClusterSettings

_HANDLER = "nvidia"
"""What the container runtime of the node images calls NVIDIA's handler."""


def _plan_operator(
    at: tuple[str, ...], settings: EksClusterSettings, pools: Sequence[PoolPlan], findings: Findings
) -> ReleasePlan | None:
    if settings.gpu_operator is None:
        return None
    return plan_gpu_operator(at, settings.gpu_operator, pools, findings, host_runtime=_HANDLER)


def _driver_values(
    name: str, release: Release, settings: EksClusterSettings, theirs: ChartValues
) -> ChartValues:
    discovers = settings.gpu_operator is not None
    return eks_driver_values(name, release, theirs, discovers_features=discovers)


RULES: CloudRules[EksClusterSettings] = CloudRules(
    plan_pool=plan_eks_pool,
    check=check_eks,
    plan_operator=_plan_operator,
    driver_values=_driver_values,
    check_values=check_eks_values,
)
