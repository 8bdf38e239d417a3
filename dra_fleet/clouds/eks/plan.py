"""What the plan asks of Elastic Kubernetes Service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.cloud import Autoscaler, Planning, no_classes, nothing
from dra_fleet.clouds.eks.checks import check_eks, check_eks_values
from dra_fleet.clouds.eks.cluster_planning import plan_eks_cluster
from dra_fleet.clouds.eks.pools import plan_eks_pool
from dra_fleet.clouds.eks.releases import eks_driver_values
from dra_fleet.drivers.operators import HostDriver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clouds.eks.settings import EksClusterSettings
    from dra_fleet.drivers.driver import Driver, Release
    from dra_fleet.model.plan import ChartValues
    from dra_fleet.settings.operators import GpuOperatorSettings


def _operators(settings: EksClusterSettings) -> Mapping[str, GpuOperatorSettings]:
    return {} if settings.gpu_operator is None else {"gpuOperator": settings.gpu_operator}


def _driver_values(
    driver: Driver, release: Release, settings: EksClusterSettings, theirs: ChartValues
) -> ChartValues:
    discovers = settings.gpu_operator is not None
    return eks_driver_values(driver, release, theirs, discovers_features=discovers)


PLANNING: Planning[EksClusterSettings] = Planning(
    plan_pool=plan_eks_pool,
    check=check_eks,
    # It has no template of the slices of an empty pool: https://github.com/kubernetes/autoscaler/issues/7799;
    # of Karpenter: https://karpenter.sh/docs/reference/settings/.
    autoscaler=Autoscaler(
        title="the Cluster Autoscaler on EKS",
        otherwise=", or let Karpenter do it (from 1.15, with its alpha setting enableDRA)",
    ),
    operators=_operators,
    host_driver=HostDriver(runtime="nvidia"),
    driver_values=_driver_values,
    check_values=check_eks_values,
    own_classes=no_classes,
    offered_classes=no_classes,
    kubeconfig=nothing,
    adopts=lambda settings: None if settings.adopt is None else settings.adopt.name,
    account=lambda settings: ("account", settings.account),
    plan_cluster=plan_eks_cluster,
)
