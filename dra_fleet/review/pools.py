"""Pools as they will be, with their devices and what is known of them as they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.review.kinds import device_kinds, total
from dra_fleet.review.model import Pool
from dra_fleet.review.was import Was, layout_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.model.plan import PoolPlan
    from dra_fleet.review.fleet_map import Offered
    from dra_fleet.review.model import Action, Node
    from dra_fleet.review.running import Running
    from dra_fleet.review.was import WasPool


@dataclass(frozen=True, kw_only=True)
class PoolContext:
    """Context of a pool: its earlier state, running nodes, engine steps, the map by cluster."""

    was: Was
    running: Running | None
    actions: Mapping[tuple[str, str], Action]
    maps: Mapping[str, Mapping[str, tuple[Node, ...]]]


def pools(offers: Sequence[Offered], context: PoolContext) -> tuple[Pool, ...]:
    """All pools of all clusters, in the plan's order."""
    return tuple(
        _pool(offer, plan, [group for group in offer.groups if group.pool == plan.name], context)
        for offer in offers
        for plan in offer.cluster.pools
    )


def _pool(offer: Offered, plan: PoolPlan, groups: Sequence[NodeGroup], context: PoolContext) -> Pool:
    cluster = offer.cluster
    kinds = device_kinds(groups[0]) if groups else ()
    nodes = context.maps.get(cluster.name, {}).get(plan.name, ())
    was = context.was.clusters.get(cluster.name)
    before = was.pools.get(plan.name) if was else None
    devices = [(device, node.times) for node in nodes for device in node.devices]
    return Pool(
        cluster=cluster.name,
        name=plan.name,
        cloud=cluster.cloud,
        machine=plan.machine.name,
        gpu=_gpu(plan),
        nodes_min=plan.min_nodes,
        nodes_max=plan.max_nodes,
        nodes_now=nodes_now(context.running, cluster.name, plan.name),
        kinds=kinds,
        devices_per_node=total(kinds),
        devices_min=sum(group.least * len(group.shape.devices) for group in groups),
        devices_max=sum(group.most * len(group.shape.devices) for group in groups),
        unpredictable=tuple(
            dict.fromkeys(reason for group in groups for reason in group.shape.unpredictable.values())
        ),
        gpu_driver=plan.gpu_driver,
        taints=tuple(_taint(taint.key, taint.value, taint.effect) for taint in plan.taints),
        strategy=plan.sharing.strategy,
        layout=layout_text(plan.sharing),
        isolation=plan.isolation,
        price=plan.machine.price.per_hour if plan.machine.price else None,
        change=_action(context, cluster.name, plan, before),
        before=before_words(before, plan) if before else "",
        nodes=nodes,
        held=sum(times for device, times in devices if device.holder),
        placed_devices=sum(times for _, times in devices),
    )


def nodes_now(running: Running | None, cluster: str, pool: str) -> int | None:
    """Return how many nodes of a pool run; None if no cluster was asked."""
    asked = running.clusters.get(cluster) if running else None
    if asked is None:
        return None
    known = asked.pools.get(pool)
    return known.nodes if known else 0


def before_words(before: WasPool, plan: PoolPlan) -> str:
    """Describe a pool's earlier state where it differs from the plan; empty without a difference."""
    reported: list[str] = []
    if before.machine_name != plan.machine.name:
        reported.append(f"machine type {before.machine_name}")
    if (before.min_nodes, before.max_nodes) != (plan.min_nodes, plan.max_nodes):
        reported.append(f"{node_range(before.min_nodes, before.max_nodes)}")
    if before.layout is not None and before.layout != layout_text(plan.sharing):
        reported.append(f"partitions {before.layout}" if before.layout else "whole devices")
    if before.advertise is not None and before.advertise != plan.advertise:
        reported.append(f"advertise {before.advertise}")
    return ", ".join(reported)


def node_range(least: int, most: int) -> str:
    """Return the number of nodes as text."""
    return f"{least} {'node' if least == 1 else 'nodes'}" if least == most else f"{least} to {most} nodes"


def _action(context: PoolContext, cluster: str, plan: PoolPlan, before: WasPool | None) -> Action:
    by_engine = context.actions.get((cluster, plan.name))
    if by_engine is not None:
        return by_engine
    return "update" if before is not None and before_words(before, plan) else "none"


def _gpu(plan: PoolPlan) -> str:
    machine = plan.machine
    if machine.gpu is None:
        return ""
    count = machine.gpu_fraction or str(machine.gpus)
    return f"{count} x {machine.gpu}"


def _taint(key: str, value: str, effect: str) -> str:
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"
