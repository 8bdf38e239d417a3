"""What the plan asks of Google Kubernetes Engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.plan.cloud import CloudRules
from fleet.plan.gke_checks import check_gke, check_gke_values
from fleet.plan.gke_pools import dranet_classes_of, plan_gke_pool
from fleet.plan.gke_releases import gke_driver_values

if TYPE_CHECKING:
    from fleet.settings.gke import GkeClusterSettings

RULES: CloudRules[GkeClusterSettings] = CloudRules(
    plan_pool=plan_gke_pool,
    check=check_gke,
    driver_values=lambda name, release, _, theirs: gke_driver_values(name, release, theirs),
    check_values=check_gke_values,
    own_classes=dranet_classes_of,
)
