"""Pools as they will be with their devices, and the user of each device of each node."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_fleet.kubernetes.cel import CelInvalid
from dra_fleet.proof.demand.asks import claim_ask, class_objects, drivers_named
from dra_fleet.proof.demand.pod_sets import claim_of, pod_sets_of
from dra_fleet.proof.report import Undecidable
from dra_fleet.proof.search.packing import Packing
from dra_fleet.proof.search.placements import Placements, steps_for
from dra_fleet.proof.search.suitability import suitability_of
from dra_fleet.proof.supply.prediction import predict
from dra_fleet.review.events import device_kind, device_kinds, total
from dra_fleet.review.model import Device, Node, Pool
from dra_fleet.review.running import Was, layout_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.model.plan import ClusterPlan, PoolPlan
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.review.model import Action
    from dra_fleet.review.running import Running, WasPool


class PoolContext(Struct, frozen=True, kw_only=True):
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


class Offered(Struct, frozen=True, kw_only=True):
    """A cluster's nodes by pool, its sorts of pod, and what becomes of devices when pods are placed."""

    cluster: ClusterPlan
    groups: Sequence[NodeGroup]
    pod_sets: Sequence[PodSet]
    placements: Placements


Holders = dict[str, str]
"""The name of the user of each device."""


def running_map(offer: Offered, running: Running) -> dict[str, tuple[Node, ...]]:
    """Return the running nodes of each pool and the users of their devices.

    Devices in use that are not predicted are shown too; a pool that was not asked about has no nodes.
    """
    asked = running.clusters[offer.cluster.name]
    holders = running.holders(offer.cluster.name)
    found: dict[str, tuple[Node, ...]] = {}
    for pool in offer.cluster.pools:
        group = next(item for item in offer.groups if item.pool == pool.name)
        known = asked.pools.get(pool.name)
        predicted = {device.name: device_kind(device) for device in group.shape.devices}
        found[pool.name] = tuple(
            Node(name=name, times=1, devices=_devices(predicted, holders.get(name, {})))
            for name in sorted(known.node_names if known else ())
        )
    return found


def _devices(predicted: Mapping[str, str], holders: Mapping[str, tuple[str, str]]) -> tuple[Device, ...]:
    kinds = {**predicted, **dict.fromkeys(sorted(holders.keys() - predicted.keys()), "?")}
    return tuple(
        Device(
            name=name, kind=kind, holder=holders.get(name, ("", ""))[0], pod=holders.get(name, ("", ""))[1]
        )
        for name, kind in kinds.items()
    )


def example_map(offer: Offered) -> dict[str, tuple[Node, ...]]:
    """Return the maximum nodes of each pool, filled by the workloads in the order of the stack file.

    A pod takes the first node that it fits on, as one order of arrival; the proof, not this, reports
    what holds in every order. Nodes that end up alike and stand together are one with `times`.
    """
    filled = [[Holders() for _ in range(group.most)] for group in offer.groups]
    _fill(offer, filled)
    found: dict[str, tuple[Node, ...]] = {}
    for group, nodes in zip(offer.groups, filled, strict=True):
        first = sum(node.times for node in found.get(group.pool, ()))
        found[group.pool] = (*found.get(group.pool, ()), *_alike(group, nodes, first))
    return found


def _fill(offer: Offered, filled: Sequence[Sequence[Holders]]) -> None:
    groups, pod_sets = offer.groups, offer.pod_sets
    suitability = [
        [suitability_of(pod_set, group, offer.placements.suitability) for group in groups]
        for pod_set in pod_sets
    ]
    packing = Packing(
        [group.shape for group in groups], pod_sets, offer.placements, counts_resources=[True] * len(groups)
    )
    states = [[packing.empty(number) for _ in nodes] for number, nodes in enumerate(filled)]
    for number, pod_set in enumerate(pod_sets):
        left = pod_set.copies
        for group, checked in enumerate(suitability[number]):
            if checked.barrier or checked.doubt or checked.error is not None:
                continue
            for node in range(len(states[group]) if left else 0):
                left = _fill_node(
                    packing,
                    number,
                    states[group],
                    node=node,
                    holders=filled[group][node],
                    name=pod_set.name,
                    left=left,
                )
                if not left:
                    break


def _fill_node(
    packing: Packing, pod_set: int, states: list[int], *, node: int, holders: Holders, name: str, left: int
) -> int:
    """Put copies on a node while they fit; returns how many are left to place."""
    while left:
        try:
            following = packing.place(pod_set, states[node])
        except (Undecidable, CelInvalid):
            return left
        if following is None:
            return left
        for _, _, device in packing.given(pod_set, states[node]):
            holders[device] = name
        if following == states[node]:  # it takes nothing that runs out
            return 0
        states[node] = following
        left -= 1
    return left


def _alike(group: NodeGroup, nodes: Sequence[Holders], first: int) -> Iterator[Node]:
    number = first + 1
    kinds = [(device.name, device_kind(device)) for device in group.shape.devices]
    for holders, same in groupby(nodes):
        times = sum(1 for _ in same)
        name = f"node {number}" if times == 1 else f"nodes {number}-{number + times - 1}"
        devices = tuple(
            Device(name=device, kind=kind, holder=holders.get(device, ""), pod="") for device, kind in kinds
        )
        yield Node(name=name, times=times, devices=devices)
        number += times


def offered(cluster: ClusterPlan) -> Offered:
    """Predict what the pools of a cluster publish, and read what its workloads ask for."""
    classes = class_objects(cluster)
    specs = {item.name: item.spec for item in (*cluster.templates, *cluster.claims)}
    asks = {name: claim_ask(name, spec, classes) for name, spec in sorted(specs.items())}
    named = drivers_named(asks.values(), {item.name: classes[item.name] for item in cluster.classes})
    known = [item for item in cluster.workloads if claim_of(item) in asks]
    return Offered(
        cluster=cluster,
        groups=predict(cluster, named),
        pod_sets=pod_sets_of(cluster, known, asks, classes)[0],
        placements=Placements(classes, cluster.kubernetes, steps_for([cluster])),
    )
