"""Pools: what each cloud's settings of a pool come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import catalogue
from fleet.plan.aks_pools import plan_aks_pool
from fleet.plan.eks_pools import plan_eks_pool
from fleet.plan.gke_pools import plan_gke_pool
from fleet.plan.isolation import isolation
from fleet.plan.machines import check_sharing, find_machine, taints_of
from fleet.plan.model import PoolPlan
from fleet.settings.aks import AksClusterSettings
from fleet.settings.eks import EksClusterSettings
from fleet.settings.existing import ExistingClusterSettings
from fleet.settings.gke import GkeClusterSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.plan.findings import Findings
    from fleet.settings.clusters import ClusterSettings
    from fleet.settings.pools import PoolSettings

_DESCRIBE = (
    "describe the machine in the stack file: machine: {gpu: A100-SXM4-40GB, gpus: 4, cpus: 64, memory: 512}"
)


def plan_pools(cluster: str, settings: ClusterSettings, findings: Findings) -> tuple[PoolPlan, ...]:
    """The pools of a cluster in the order of their names; those that are wrong are left out."""
    match settings:
        case ExistingClusterSettings():
            _check_selectors(cluster, settings.pools, findings)
            planned = [
                _plan_pool(("clusters", cluster, "pools", name), name, pool, findings)
                for name, pool in sorted(settings.pools.items())
            ]
        case AksClusterSettings():
            planned = [
                plan_aks_pool(("clusters", cluster, "pools", name), name, pool, findings)
                for name, pool in sorted(settings.pools.items())
            ]
        case EksClusterSettings():
            planned = [
                plan_eks_pool(("clusters", cluster, "pools", name), name, pool, findings)
                for name, pool in sorted(settings.pools.items())
            ]
        case GkeClusterSettings():
            planned = [
                plan_gke_pool(("clusters", cluster, "pools", name), name, pool, settings, findings)
                for name, pool in sorted(settings.pools.items())
            ]
    return tuple(pool for pool in planned if pool is not None)


def _plan_pool(at: tuple[str, ...], name: str, pool: PoolSettings, findings: Findings) -> PoolPlan | None:
    known = catalogue.load().machines
    machine = find_machine(at, pool.machine, known, _DESCRIBE, findings=findings)
    if machine is None:
        return None
    check_sharing(at, machine, pool.sharing, findings)
    return PoolPlan(
        name=name,
        machine=machine,
        min_nodes=pool.nodes.min,
        max_nodes=pool.nodes.max,
        labels=dict(sorted(pool.node_selector.items())),
        taints=taints_of(pool),
        gpu_driver=pool.gpu_driver,
        sharing=pool.sharing,
        isolation=isolation(machine, pool.sharing),
    )


def _check_selectors(cluster: str, pools: Mapping[str, PoolSettings], findings: Findings) -> None:
    """On a cluster that exists, the selector is all that tells a pool's nodes from another's."""
    names = sorted(pools)
    for index, first in enumerate(names):
        for second in names[index + 1 :]:
            narrow, wide = sorted((first, second), key=lambda name: (-len(pools[name].node_selector), name))
            if pools[wide].node_selector.items() <= pools[narrow].node_selector.items():
                findings.error(
                    "clusters",
                    cluster,
                    "pools",
                    wide,
                    "nodeSelector",
                    what=f"also selects every node of pool {narrow}",
                    got=str(dict(pools[wide].node_selector)),
                    fix="give each pool a label value of its own",
                )
