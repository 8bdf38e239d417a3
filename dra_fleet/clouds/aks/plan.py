"""What the plan asks of Azure Kubernetes Service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.aks.checks import check_aks, check_aks_values
from dra_fleet.clouds.aks.cluster_planning import plan_aks_cluster
from dra_fleet.clouds.aks.pools import plan_aks_pool
from dra_fleet.clouds.aks.releases import aks_driver_values
from dra_fleet.clouds.cloud import Autoscaler, Planning, no_classes, nothing
from dra_fleet.drivers.operators import HostDriver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clouds.aks.settings import AksClusterSettings
    from dra_fleet.settings.operators import GpuOperatorSettings


def _operators(settings: AksClusterSettings) -> Mapping[str, GpuOperatorSettings]:
    return {} if settings.gpu_operator is None else {"gpuOperator": settings.gpu_operator}


PLANNING: Planning[AksClusterSettings] = Planning(
    plan_pool=plan_aks_pool,
    check=check_aks,
    # It has no template of the slices of an empty pool: https://github.com/kubernetes/autoscaler/issues/7799.
    autoscaler=Autoscaler(title="the cluster autoscaler of AKS"),
    operators=_operators,
    host_driver=HostDriver(runtime="nvidia-container-runtime", setting="aks"),
    driver_values=lambda driver, release, _, theirs: aks_driver_values(driver, release, theirs),
    check_values=check_aks_values,
    own_classes=no_classes,
    offered_classes=no_classes,
    kubeconfig=nothing,
    adopts=lambda settings: None if settings.adopt is None else settings.adopt.name,
    account=lambda settings: ("subscription", settings.subscription),
    plan_cluster=plan_aks_cluster,
)
