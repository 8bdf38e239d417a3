"""What the plan asks of Google Kubernetes Engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.cloud import Autoscaler, Planning, no_operators, nothing
from dra_fleet.clouds.gke.autoscaling import gke_devices
from dra_fleet.clouds.gke.checks import check_gke, check_gke_values
from dra_fleet.clouds.gke.cluster_planning import plan_gke_cluster
from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.clouds.gke.pools import dranet_classes_of, plan_gke_pool
from dra_fleet.clouds.gke.releases import gke_driver_values
from dra_fleet.drivers.operators import NO_HOST_DRIVER

if TYPE_CHECKING:
    from dra_fleet.clouds.gke.settings import GkeClusterSettings

PLANNING: Planning[GkeClusterSettings] = Planning(
    plan_pool=plan_gke_pool,
    check=check_gke,
    autoscaler=Autoscaler(title="GKE's autoscaler", imagines=gke_devices),
    operators=no_operators,
    host_driver=NO_HOST_DRIVER,
    driver_values=lambda driver, release, _, theirs: gke_driver_values(driver, release, theirs),
    check_values=check_gke_values,
    own_classes=dranet_classes_of,
    offered_classes=lambda: {item.name: "dranet: true" for item in gke_facts().dranet_classes},
    kubeconfig=nothing,
    adopts=lambda settings: None if settings.adopt is None else settings.adopt.name,
    account=lambda settings: ("project", settings.project),
    plan_cluster=plan_gke_cluster,
)
