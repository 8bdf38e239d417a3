"""Pools: the machine behind each, its GPUs, and how they are shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import catalogue, sharing
from fleet.catalogue.model import Machine
from fleet.plan.model import PoolPlan, Taint
from fleet.settings.errors import under
from fleet.settings.sharing import ExclusiveSharing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.plan.findings import Findings
    from fleet.settings.clusters import ClusterSettings
    from fleet.settings.pools import InlineMachine, PoolSettings

_DESCRIBE = (
    "describe the machine in the stack file: machine: {gpu: A100-SXM4-40GB, gpus: 4, cpus: 64, memory: 512}"
)


def plan_pools(cluster: str, settings: ClusterSettings, findings: Findings) -> tuple[PoolPlan, ...]:
    """The pools of a cluster in the order of their names; those that are wrong are left out."""
    _check_selectors(cluster, settings.pools, findings)
    planned = [
        _plan_pool(("clusters", cluster, "pools", name), name, pool, findings)
        for name, pool in sorted(settings.pools.items())
    ]
    return tuple(pool for pool in planned if pool is not None)


def _plan_pool(at: tuple[str, ...], name: str, pool: PoolSettings, findings: Findings) -> PoolPlan | None:
    machine = _machine(at, pool, findings)
    if machine is None:
        return None
    _check_sharing(at, machine, pool, findings)
    return PoolPlan(
        name=name,
        machine=machine,
        min_nodes=pool.nodes.min,
        max_nodes=pool.nodes.max,
        labels=dict(sorted(pool.node_selector.items())),
        taints=tuple(Taint(key=taint.key, value=taint.value, effect=taint.effect) for taint in pool.taints),
        gpu_driver=pool.gpu_driver,
        sharing=pool.sharing,
    )


def _machine(at: tuple[str, ...], pool: PoolSettings, findings: Findings) -> Machine | None:
    facts = catalogue.load()
    if isinstance(pool.machine, str):
        machine = facts.machines.get(pool.machine)
        if machine is None:
            findings.unknown(
                *at,
                "machine",
                what="is no machine of the catalogue",
                got=pool.machine,
                known=list(facts.machines),
                fix=_DESCRIBE,
            )
        return machine
    if pool.machine.gpu not in facts.gpus:
        findings.unknown(
            *at,
            "machine",
            "gpu",
            what="is no GPU model of the catalogue",
            got=pool.machine.gpu,
            known=list(facts.gpus),
        )
        return None
    return _described(pool.machine)


def _described(machine: InlineMachine) -> Machine:
    return Machine(
        name=f"{machine.gpus} x {machine.gpu}",
        cloud="existing",
        gpu=machine.gpu,
        gpus=machine.gpus,
        cpus=machine.cpus,
        memory_gib=machine.memory,
        source="the stack file",
        date=catalogue.load().kubernetes.date,
    )


def _check_sharing(at: tuple[str, ...], machine: Machine, pool: PoolSettings, findings: Findings) -> None:
    gpu = catalogue.load().gpus[machine.gpu] if machine.gpu is not None else None
    if gpu is not None:
        findings.errors += sharing.check(gpu, pool.sharing, under(*at, "sharing"))
    elif not isinstance(pool.sharing, ExclusiveSharing):
        findings.error(
            *at,
            "sharing",
            what=f"shares GPUs that {machine.name} does not have",
            got=pool.sharing.strategy,
            fix="remove sharing, or choose a machine with GPUs",
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
