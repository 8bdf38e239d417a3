"""What an autoscaler must do before pods find their devices, and whether it can for a pool without nodes.

An autoscaler asks the scheduler about a node that it imagines. Where the pool has a node, that one is copied.
Where it has none, Google's predicts the slices itself; the others imagine a node without devices
(https://github.com/kubernetes/autoscaler/issues/10199).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.model.nodes import NodeDevice
from dra_fleet.model.published import PublishedDevice
from dra_fleet.proof.answer.misses import why_too_few
from dra_fleet.proof.search.matching import match
from dra_fleet.proof.search.packing import Undecidable
from dra_fleet.proof.search.placements import Held

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.gke.facts import GkeScaleFromZero
    from dra_fleet.model.nodes import NodeGroup, NodeShape
    from dra_fleet.model.plan import ClusterPlan, PoolPlan
    from dra_fleet.proof.answer.verdicts import PoolFit
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.proof.search.contention import Question

_DRIVER = "gpu.nvidia.com"
_KEEP = "keep nodes.min at 1, or grow it by hand"
_AUTOSCALERS = {"aks": "the cluster autoscaler of AKS", "eks": "the Cluster Autoscaler on EKS"}
"""Neither has a template of the slices of an empty pool: https://github.com/kubernetes/autoscaler/issues/7799."""
_OTHERS = {"eks": ", or let Karpenter do it (from 1.15, with its alpha setting enableDRA)"}
"""Source: https://karpenter.sh/docs/reference/settings/."""
_MOST_PREDICTED_BYTES = "136"
"""GKE's autoscaler computes a GPU's memory as so many bytes at most, whatever the GPU has."""


def must_grow(cluster: ClusterPlan, question: Question, pod_set: int, fits: Sequence[PoolFit]) -> list[str]:
    """Per pool that has room for a pod set above its least number of nodes: what must happen, in words.

    Args:
        cluster: the cluster.
        question: its nodes and what is asked of them.
        pod_set: which pod set.
        fits: what each pool gives it alone.
    """
    pools = {pool.name: pool for pool in cluster.pools}
    taking = {fit.pool for fit in fits if fit.at_max}
    return [
        _sentence(cluster, pools[group.pool], group, question.pod_sets[pod_set], question)
        for group in question.groups
        if group.pool in taking and group.least < group.most
    ]


def gke_devices(pool: PoolPlan, facts: GkeScaleFromZero) -> tuple[tuple[NodeDevice, ...], str]:
    """The devices that GKE's autoscaler imagines on a node of a pool without nodes.

    Args:
        pool: the pool.
        facts: what is known of the autoscaler.

    Returns:
        The devices, and why there are none: it does not know every accelerator, and no partitions.
    """
    name = pool.machine.accelerator
    known = facts.accelerator(name)
    if known is None:
        return (), f"GKE's autoscaler does not know accelerator {name or 'none'}"
    if pool.sharing.strategy == "mig":
        return (), "GKE's autoscaler knows no MIG partitions"
    return tuple(
        _imagined(
            PublishedDevice(
                name=f"gpu-{index}",
                attributes={
                    "type": "gpu",
                    "architecture": known.architecture,
                    "brand": "Nvidia",
                    "productName": known.product_name,
                    "uuid": f"GPU-{index}",
                    "index": index,
                    "minor": index,
                },
                capacity={"memory": _MOST_PREDICTED_BYTES},
            ),
            facts,
        )
        for index in range(pool.machine.gpus)
    ), ""


def _imagined(device: PublishedDevice, facts: GkeScaleFromZero) -> NodeDevice:
    body = device.to_object()
    attributes = {name: value for name, value in body["attributes"].items() if name in facts.attributes}
    full = {**body, "attributes": attributes}
    return NodeDevice(
        driver=_DRIVER,
        name=device.name,
        seen=full,
        placed=full,
        origins=dict.fromkeys((*attributes, "memory"), "documented"),
    )


def _sentence(
    cluster: ClusterPlan, pool: PoolPlan, group: NodeGroup, pod_set: PodSet, question: Question
) -> str:
    grows = f"{pool.name} must grow beyond {group.least} of {group.most} nodes"
    if group.least:
        return f"{grows}, which its autoscaler does by the devices of a node that it has"
    if cluster.cloud != "gke":
        who = _AUTOSCALERS.get(cluster.cloud, "an autoscaler")
        other = _OTHERS.get(cluster.cloud, "")
        return f"{grows}, but {who} sees devices only through a node that the pool has: {_KEEP}{other}"
    devices, reason = gke_devices(pool, gke_facts().scale_from_zero)
    reason = reason or _misses(replace(group.shape, devices=devices), pod_set, question)
    if reason:
        return f"{grows}, but from zero it never does: {reason}: {_KEEP}"
    return f"{grows}, which GKE's autoscaler does also from zero"


def _misses(shape: NodeShape, pod_set: PodSet, question: Question) -> str:
    """Why a pod set finds no devices on a node that the autoscaler imagines; empty if it does."""
    try:
        if question.placements.place(pod_set.claim, shape, Held()) is not None:
            return ""
    except Undecidable as problem:
        return str(problem)
    for choices in pod_set.claim.requests:
        found = [(ask, match(ask, shape, question.placements.minor)) for ask in choices]
        if not any(one.certain for _, one in found):
            ask, one = found[0]
            where = "that its autoscaler imagines"
            return why_too_few(ask, one.misses, 0, len(shape.devices), where)[0]
    return "no node that its autoscaler imagines has all it asks for together"
