"""What each cluster of a plan offers and asks for, worked out once from the proof's own parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.proof.demand.asks import claim_ask, class_objects, drivers_named
from dra_fleet.proof.demand.pod_sets import claim_of, pod_sets_of
from dra_fleet.proof.search.placements import Placements, steps_for
from dra_fleet.proof.supply.prediction import predict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.proof.demand.pod_sets import PodSet


@dataclass(frozen=True, kw_only=True)
class Offered:
    """A cluster's nodes by pool, its sorts of pod, and what becomes of devices when pods are placed."""

    cluster: ClusterPlan
    groups: Sequence[NodeGroup]
    pod_sets: Sequence[PodSet]
    placements: Placements


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
