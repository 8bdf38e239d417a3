"""What an autoscaler must do before pods find their devices, and whether it can for a pool without nodes.

An autoscaler asks the scheduler about a node that it imagines. Where the pool has a node, that one is copied.
Where it has none, one cloud's predicts the slices itself; the others imagine a node without devices
(https://github.com/kubernetes/autoscaler/issues/10199).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dra_fleet import clouds
from dra_fleet.proof.answer.misses import MOST_POOLS, why_unmatched
from dra_fleet.proof.search.kinds import Held
from dra_fleet.proof.search.packing import Undecidable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.model.nodes import NodeGroup, NodeShape
    from dra_fleet.model.plan import ClusterPlan, PoolPlan
    from dra_fleet.proof.answer.verdicts import PoolFit
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.proof.search.contention import Question

_KEEP = "keep nodes.min at 1, or grow it by hand"


def must_grow(cluster: ClusterPlan, question: Question, pod_set: int, fits: Sequence[PoolFit]) -> list[str]:
    """Per pool that has room for a pod set above its least number of nodes: what must happen, in words.

    Of many pools the first are told: it is enough that one of them grows.

    Args:
        cluster: the cluster.
        question: its nodes and what is asked of them.
        pod_set: which pod set.
        fits: what each pool gives it alone.
    """
    pools = {pool.name: pool for pool in cluster.pools}
    taking = {fit.pool for fit in fits if fit.at_max}
    growing = [group for group in question.groups if group.pool in taking and group.least < group.most]
    return [
        _sentence(cluster, pools[group.pool], group, question.pod_sets[pod_set], question)
        for group in growing[:MOST_POOLS]
    ]


def _sentence(
    cluster: ClusterPlan, pool: PoolPlan, group: NodeGroup, pod_set: PodSet, question: Question
) -> str:
    grows = f"{pool.name} must grow beyond {group.least} of {group.most} nodes"
    if group.least:
        return f"{grows}, which its autoscaler does by the devices of a node that it has"
    cloud = clouds.named(cluster.cloud)
    imagined = cloud.imagined_devices(pool)
    if imagined is None:
        return (
            f"{grows}, but {cloud.autoscaler} sees devices only through a node that the pool has: "
            f"{_KEEP}{cloud.first_node}"
        )
    devices, reason = imagined
    reason = reason or _misses(replace(group.shape, devices=devices), pod_set, question)
    if reason:
        return f"{grows}, but from zero it never does: {reason}: {_KEEP}"
    return f"{grows}, which {cloud.autoscaler} does also from zero"


def _misses(shape: NodeShape, pod_set: PodSet, question: Question) -> str:
    """Why a pod set finds no devices on a node that the autoscaler imagines; empty if it does."""
    try:
        if question.placements.place(pod_set.claim, shape, Held()) is not None:
            return ""
        for choices in pod_set.claim.requests:
            found = [(ask, question.placements.match(ask, shape)) for ask in choices]
            if not any(one.certain for _, one in found):
                ask, one = found[0]
                where = "that its autoscaler imagines"
                return why_unmatched(ask, one.misses, len(shape.devices), where)[0]
    except Undecidable as problem:
        return str(problem)
    return "no node that its autoscaler imagines has all it asks for together"
