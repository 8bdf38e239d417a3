"""User of each device of each node: as it runs now, or after one possible order of arrival."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.cel import CelInvalid
from dra_fleet.proof.demand.asks import claim_ask, class_objects, drivers_named
from dra_fleet.proof.demand.pod_sets import claim_of, pod_sets_of
from dra_fleet.proof.search.packing import Packing, Undecidable
from dra_fleet.proof.search.placements import Placements, steps_for
from dra_fleet.proof.search.suitability import suitability_of
from dra_fleet.proof.supply.prediction import predict
from dra_fleet.review.kinds import device_kind
from dra_fleet.review.model import Device, Node

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.review.running import Running


@dataclass(frozen=True, kw_only=True)
class Offered:
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
    packing: Packing,
    pod_set: int,
    states: list[int],
    *,
    node: int,
    holders: Holders,
    name: str,
    left: int,
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
