"""What the plan asks of Meadow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.cloud import Autoscaler, Planning, no_classes, no_operators, no_values, nothing
from dra_fleet.clouds.common.machines import find_machine, planned
from dra_fleet.drivers.operators import NO_HOST_DRIVER
from dra_fleet.model.labels import POOL
from meadow_cloud import CLOUD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import PoolPlan
    from dra_fleet.settings.fleet import FleetSettings
    from meadow_cloud.settings import MeadowClusterSettings


def _plan_pool(
    at: tuple[str, ...], name: str, settings: MeadowClusterSettings, findings: Findings
) -> PoolPlan | None:
    pool = settings.pools[name]
    machine = find_machine(at, pool.machine, CLOUD.machines, "choose coop", findings=findings)
    if machine is None:
        return None
    return planned(name, pool, machine, {POOL: name})


def _check(
    name: str,
    _fleet: FleetSettings,
    settings: MeadowClusterSettings,
    _minor: str,
    _pools: Sequence[PoolPlan],
    *,
    findings: Findings,
) -> None:
    if settings.field == "fallow":
        findings.error("clusters", name, "field", what="bears nothing this year", got=settings.field)


PLANNING: Planning[MeadowClusterSettings] = Planning(
    plan_pool=_plan_pool,
    check=_check,
    autoscaler=Autoscaler(title="Meadow's autoscaler"),
    operators=no_operators,
    host_driver=NO_HOST_DRIVER,
    driver_values=no_values,
    check_values=nothing,
    own_classes=no_classes,
    offered_classes=no_classes,
    kubeconfig=nothing,
    adopts=nothing,
    account=nothing,
    plan_cluster=nothing,
)
