"""What the plan asks of Azure Kubernetes Service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.aks.checks import check_aks, check_aks_values
from dra_fleet.clouds.aks.cluster_planning import plan_aks_cluster
from dra_fleet.clouds.aks.pools import plan_aks_pool
from dra_fleet.clouds.aks.releases import aks_driver_values
from dra_fleet.clouds.cloud import Autoscaler, Planning
from dra_fleet.drivers.nvidia.operator import plan_gpu_operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.aks.settings import AksClusterSettings
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import PoolPlan, ReleasePlan


def _plan_operator(
    at: tuple[str, ...], settings: AksClusterSettings, pools: Sequence[PoolPlan], findings: Findings
) -> ReleasePlan | None:
    if settings.gpu_operator is None:
        return None
    return plan_gpu_operator(at, settings.gpu_operator, pools, findings)


PLANNING: Planning[AksClusterSettings] = Planning(
    plan_pool=plan_aks_pool,
    check=check_aks,
    # It has no template of the slices of an empty pool: https://github.com/kubernetes/autoscaler/issues/7799.
    autoscaler=Autoscaler(title="the cluster autoscaler of AKS"),
    plan_operator=_plan_operator,
    driver_values=lambda name, release, _, theirs: aks_driver_values(name, release, theirs),
    check_values=check_aks_values,
    adopts=lambda settings: None if settings.adopt is None else settings.adopt.name,
    plan_cluster=plan_aks_cluster,
)
