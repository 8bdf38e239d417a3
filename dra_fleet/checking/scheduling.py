"""Where a pod with devices may run: node selectors, taints, and names that only a device plugin answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dra_fleet.checking.pods import containers
from dra_fleet.checking.resources import at, mapping
from dra_fleet.kubernetes.scheduling.node_affinity import RequiredNodeAffinity, some_labels
from dra_fleet.kubernetes.scheduling.taints import toleration_text, tolerations, untolerated_taints

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dra_fleet.checking.inventory import Cluster
    from dra_fleet.checking.pods import Pod
    from dra_fleet.model.plan import PoolPlan

_PLUGIN_NAME = re.compile(
    r"nvidia\.com/(gpu|mig-.+|gpu\.shared)|(gpu\.)?(amd|intel)\.com/.+|google\.com/tpu|aws\.amazon\.com/neuron.*"
)
_NODE_S_OWN = re.compile(
    r"(^|\.)(kubernetes|k8s)\.io/|^nvidia\.com/|(^|\.)(azure|amazonaws|google|aliyun)\.com/"
)
"""Labels that nodes carry without the stack's doing."""


def check_scheduling(
    pod: Pod, clusters: Iterable[Cluster], chosen: Mapping[str, frozenset[str]], declared: Mapping[str, str]
) -> list[PoolPlan]:
    """Tell what keeps a pod that holds devices from every pool; the pools where it may run.

    Args:
        pod: the pod.
        clusters: the stack's clusters.
        chosen: per claim or template, the pools that can serve it, where that is known.
        declared: extended resource names of the classes of the files, each with the class.
    """
    all_clusters = list(clusters)
    asks = _check_plugin_names(pod, all_clusters, declared)
    if not pod.claims and not asks:
        return []
    pools = [pool for cluster in all_clusters for pool in cluster.plan.pools]
    for _, target in pod.claims.values():
        pools = [pool for pool in pools if target not in chosen or pool.name in chosen[target]]
    left = _check_selection(pod, pools) if pools else []
    return _check_taints(pod, left) if left else []


def _check_selection(pod: Pod, pools: list[PoolPlan]) -> list[PoolPlan]:
    selector = mapping(pod.spec.get("nodeSelector"))
    wanted = RequiredNodeAffinity.of(selector, pod.spec.get("affinity"))
    field = "nodeSelector" if selector else "affinity"
    answers = {pool.name: wanted.matches(some_labels(pool.labels)) for pool in pools}
    left = [pool for pool in pools if answers[pool.name] != "no"]
    subject = pod.resource.subject
    if not left:
        told = "; ".join(f"{pool.name}: {_labels(pool)}" for pool in pools)
        subject.error(
            *pod.path,
            field,
            what="selects no pool that has the devices it asks for",
            got=", ".join(f"{key}={value}" for key, value in selector.items()),
            allowed=told,
        )
        return []
    keys = {key for pool in pools for key in pool.labels}
    for key in sorted(wanted.keys - keys):
        if not _NODE_S_OWN.search(key):
            subject.warning(
                *pod.path,
                field,
                what=f"asks for label {key}, which no pool of the stack is known to carry",
                allowed=", ".join(sorted(keys)),
                fix="put the label on the pool, not on nodes by hand: a new node would lack it",
            )
    return left


def _check_taints(pod: Pod, pools: list[PoolPlan]) -> list[PoolPlan]:
    given = tolerations(pod.spec.get("tolerations"))
    kept = {pool.name: untolerated_taints(pool.taints, given) for pool in pools}
    borne = [pool for pool in pools if not kept[pool.name]]
    if borne:
        return borne
    missing = list(dict.fromkeys(taint for taints in kept.values() for taint in taints))
    pod.resource.subject.error(
        *pod.path,
        "tolerations",
        what="tolerates the taints of no pool that has its devices: "
        + "; ".join(f"{name} has {', '.join(map(str, taints))}" for name, taints in kept.items()),
        fix=f"tolerations: [{', '.join(map(toleration_text, missing))}]",
    )
    return []


def _check_plugin_names(pod: Pod, clusters: list[Cluster], declared: Mapping[str, str]) -> bool:
    """Tell of extended resources that no class answers; whether one is asked for that a class answers."""
    answered = {
        name: class_ for cluster in clusters for name, class_ in cluster.extended_resources.items()
    } | dict(declared)
    asks = False
    for path, container in containers(pod):
        limits = mapping(at(container, ("resources", "limits"))) | mapping(
            at(container, ("resources", "requests"))
        )
        for name in sorted(name for name in limits if name in answered or _PLUGIN_NAME.fullmatch(name)):
            asks = asks or name in answered
            where = (
                *path,
                "resources",
                "limits" if name in mapping(at(container, ("resources", "limits"))) else "requests",
                name,
            )
            if name not in answered:
                pod.resource.subject.error(
                    *where,
                    what="asks a device plugin, and the pools of this stack publish their devices by DRA "
                    "only: "
                    "the pod would wait for ever",
                    got=str(limits[name]),
                    allowed=", ".join(sorted(answered)) or "no extended resource name on this stack",
                    fix="use resources.claims with a claim of the pod",
                )
            elif pod.claims:
                pod.resource.subject.warning(
                    *where,
                    what=f"makes a second claim, of class {answered[name]}, besides the pod's own",
                    got=str(limits[name]),
                    fix="remove it, or the pod's resourceClaims",
                )
    return asks


def _labels(pool: PoolPlan) -> str:
    return ", ".join(f"{key}={value}" for key, value in pool.labels.items())
