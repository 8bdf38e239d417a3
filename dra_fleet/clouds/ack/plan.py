"""What the plan asks of Alibaba Cloud's Container Service for Kubernetes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.ack.checks import check_ack, check_ack_values
from dra_fleet.clouds.ack.cluster_planning import plan_ack_cluster
from dra_fleet.clouds.ack.pools import plan_ack_pool
from dra_fleet.clouds.ack.releases import ack_driver_values
from dra_fleet.clouds.cloud import Autoscaler, Planning, no_classes, no_operators, nothing
from dra_fleet.drivers.operators import NO_HOST_DRIVER

if TYPE_CHECKING:
    from dra_fleet.clouds.ack.settings import AckClusterSettings

PLANNING: Planning[AckClusterSettings] = Planning(
    plan_pool=plan_ack_pool,
    check=check_ack,
    # Its provider has no template of the slices of an empty pool:
    # https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/alicloud
    autoscaler=Autoscaler(title="the autoscaler of ACK"),
    operators=no_operators,
    host_driver=NO_HOST_DRIVER,
    driver_values=ack_driver_values,
    check_values=check_ack_values,
    own_classes=no_classes,
    offered_classes=no_classes,
    kubeconfig=nothing,
    adopts=lambda settings: None if settings.adopt is None else settings.adopt.id,
    account=lambda settings: ("account", settings.account),
    plan_cluster=plan_ack_cluster,
)
