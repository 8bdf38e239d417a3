"""Clusters that exist already: pools are nodes with a label, and nothing is known of whoever made them."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from dra_fleet import clouds
from dra_fleet.clouds.cloud import Autoscaler, Planning, no_classes, no_operators, no_values, nothing
from dra_fleet.clouds.common.machines import check_devices, find_machine, planned
from dra_fleet.clouds.existing import CLOUD
from dra_fleet.drivers.operators import NO_HOST_DRIVER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.existing.settings import ExistingClusterSettings
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.plan import PoolPlan
    from dra_fleet.settings.fleet import FleetSettings
    from dra_fleet.settings.pools import InlineMachine

_DESCRIBE = (
    "describe the machine in the stack file: machine: {gpu: A100-SXM4-40GB, gpus: 4, cpus: 64, memory: 512}"
)


def _plan_pool(
    at: tuple[str, ...], name: str, settings: ExistingClusterSettings, findings: Findings
) -> PoolPlan | None:
    pool = settings.pools[name]
    machine = find_machine(at, pool.machine, _known(pool.machine), _DESCRIBE, findings=findings)
    if machine is None:
        return None
    check_devices(at, machine, pool, findings)
    return planned(name, pool, machine, pool.node_selector, gpu_driver=pool.gpu_driver)


def _known(machine: str | InlineMachine) -> Mapping[str, Machine]:
    """Machines of every cloud may have been put into the cluster; they are looked for after those of none."""
    return CLOUD.machines if machine in CLOUD.machines else clouds.machines()


def _check_selectors(
    cluster: str,
    _fleet: FleetSettings,
    settings: ExistingClusterSettings,
    _minor: str,
    _pools: Sequence[PoolPlan],
    *,
    findings: Findings,
) -> None:
    """The selector is all that tells a pool's nodes from another's."""
    labels = {name: pool.node_selector.items() for name, pool in sorted(settings.pools.items())}
    for first, second in combinations(labels, 2):
        if labels[first] <= labels[second] or labels[second] <= labels[first]:
            narrow, wide = sorted((first, second), key=lambda name: (-len(labels[name]), name))
            findings.error(
                "clusters",
                cluster,
                "pools",
                wide,
                "nodeSelector",
                what=f"also selects every node of pool {narrow}",
                got=str(dict(labels[wide])),
                fix="give each pool a label value of its own",
            )


PLANNING: Planning[ExistingClusterSettings] = Planning(
    plan_pool=_plan_pool,
    check=_check_selectors,
    autoscaler=Autoscaler(title="an autoscaler"),
    operators=no_operators,
    host_driver=NO_HOST_DRIVER,
    driver_values=no_values,
    check_values=nothing,
    own_classes=no_classes,
    offered_classes=no_classes,
    kubeconfig=lambda settings: settings.kubeconfig,
    adopts=nothing,
    account=nothing,
    plan_cluster=nothing,
)
