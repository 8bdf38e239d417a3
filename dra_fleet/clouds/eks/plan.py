"""What the plan asks of Elastic Kubernetes Service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.cloud import Autoscaler, Planning
from dra_fleet.clouds.eks.checks import check_eks, check_eks_values
from dra_fleet.clouds.eks.cluster_planning import plan_eks_cluster
from dra_fleet.clouds.eks.pools import plan_eks_pool
from dra_fleet.clouds.eks.releases import eks_driver_values
from dra_fleet.drivers.nvidia.operator import plan_gpu_operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.eks.settings import EksClusterSettings
    from dra_fleet.drivers.driver import Release
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import ChartValues, PoolPlan, ReleasePlan

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


PLANNING: Planning[EksClusterSettings] = Planning(
    plan_pool=plan_eks_pool,
    check=check_eks,
    # It has no template of the slices of an empty pool: https://github.com/kubernetes/autoscaler/issues/7799;
    # of Karpenter: https://karpenter.sh/docs/reference/settings/.
    autoscaler=Autoscaler(
        title="the Cluster Autoscaler on EKS",
        otherwise=", or let Karpenter do it (from 1.15, with its alpha setting enableDRA)",
    ),
    plan_operator=_plan_operator,
    driver_values=_driver_values,
    check_values=check_eks_values,
    adopts=lambda settings: None if settings.adopt is None else settings.adopt.name,
    plan_cluster=plan_eks_cluster,
)
