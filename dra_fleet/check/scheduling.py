"""Placement of pods with devices: node selectors and taints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import clouds, drivers
from dra_fleet.check.pods import containers
from dra_fleet.check.resources import mapping
from dra_fleet.kubernetes.scheduling.node_affinity import RequiredNodeAffinity, some_labels
from dra_fleet.kubernetes.scheduling.taints import Toleration, sequence, toleration_text, untolerated_taints

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.check.inventory import ClusterInventory
    from dra_fleet.check.pods import Pod
    from dra_fleet.clouds import Cloud
    from dra_fleet.model.plan import PoolPlan


# Tolerations that the API server refuses: they are reported, and taken for what was meant.
#
# Source: https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/apis/core/validation/validation.go
# (ValidateTolerations). `Lt` and `Gt` are operators behind a feature gate that is off.

_OPERATORS: Final = ("Equal", "Exists")

_BEHIND_A_GATE: Final = ("Lt", "Gt")

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class _Refusal(Struct, frozen=True, kw_only=True):
    """Problem of a toleration. `field`: the wrong field; None for the whole toleration."""

    field: str | None
    what: str
    got: object
    allowed: str
    fix: str


_OF_KUBERNETES = re.compile(r"(^|\.)(kubernetes|k8s)\.io/|^karpenter\.[a-z0-9.]+/")
"""Labels that Kubernetes or Karpenter puts on nodes.

Source: https://karpenter.sh/docs/concepts/scheduling/#well-known-labels.
"""


def check_scheduling(
    pod: Pod, cluster: ClusterInventory, pools: Sequence[PoolPlan], *, is_placed: bool
) -> list[PoolPlan]:
    """Report a pod with devices that fits on no pool; return the possible pools.

    Args:
        pod: the pod.
        cluster: the cluster.
        pools: the pools that may have its devices.
        is_placed: whether it is known where its devices are; where its claims are not known, a pod that no
            pool takes is doubted only.
    """
    left = _check_selection(pod, cluster, pools, is_placed=is_placed) if pools else []
    return _check_taints(pod, left, admitted(pod, cluster), is_placed=is_placed) if left else []


def admitted(pod: Pod, cluster: ClusterInventory) -> list[Toleration]:
    """Return the tolerations that the cloud's admission adds to a pod."""
    cloud = clouds.named(cluster.plan.cloud)
    added = admitted_by_labels(
        cloud, RequiredNodeAffinity.of(pod.spec.get("nodeSelector"), pod.spec.get("affinity"))
    )
    if not cloud.tolerates_resources:
        return added
    names: set[str] = set()
    for _, container in containers(pod):
        resources = mapping(container.get("resources"))
        asked = {*mapping(resources.get("limits")), *mapping(resources.get("requests"))}
        names |= {name for name in asked if "/" in name}
    return [*added, *(Toleration(key=name, operator="Exists") for name in sorted(names))]


def admitted_by_labels(cloud: Cloud, required: RequiredNodeAffinity) -> list[Toleration]:
    """Return the tolerations that a cloud's admission adds to pods that require node labels."""
    in_terms = [one for term in required.terms or () for one in term.labels]
    values = {
        (one.key, value)
        for one in (*required.selector, *in_terms)
        if one.operator == "In" and one.key in cloud.tolerated_values
        for value in one.values
    }
    keys = {one.key for one in required.selector if one.key in cloud.tolerated_selectors}
    return [
        *(Toleration(key=key, operator="Exists") for key in sorted(keys)),
        *(Toleration(key=key, value=value) for key, value in sorted(values)),
    ]


def _check_selection(
    pod: Pod, cluster: ClusterInventory, pools: Sequence[PoolPlan], *, is_placed: bool
) -> list[PoolPlan]:
    selector = mapping(pod.spec.get("nodeSelector"))
    requested = RequiredNodeAffinity.of(selector, pod.spec.get("affinity"))
    field = "nodeSelector" if selector else "affinity"
    answers = {pool.name: requested.matches(some_labels(pool.labels)) for pool in pools}
    left = [pool for pool in pools if answers[pool.name] != "no"]
    subject = pod.resource.subject
    if not left:
        reported = "; ".join(f"{pool.name}: {_labels(pool)}" for pool in pools)
        report = subject.error if is_placed else subject.warning
        report(
            *pod.path,
            field,
            rule="no-pool-selected",
            what=f"selects no pool {'that has the devices it requests' if is_placed else 'of the stack'}",
            got=", ".join(f"{key}={value}" for key, value in selector.items()),
            allowed=reported,
        )
        return []
    for key in unknown_labels(requested, pools, left):
        subject.warning(
            *pod.path,
            field,
            rule="label-unknown",
            what=f"requests label {key}, which no pool of the stack is known to carry",
            allowed=", ".join(sorted({key for pool in pools for key in pool.labels})),
            fix="put the label on the pool, not on nodes by hand: a new node would lack it"
            if clouds.named(cluster.plan.cloud).makes_nodes
            else "add the label to nodeSelector of the pool, if its nodes have it",
        )
    return left


def unknown_labels(
    requested: RequiredNodeAffinity, pools: Sequence[PoolPlan], left: Sequence[PoolPlan]
) -> list[str]:
    """Return the labels that pods need on their nodes and that no pool is known to carry.

    Args:
        requested: the requirements of the pods.
        pools: the pools whose labels are known.
        left: the pools that may match.
    """
    asked = requested.keys - {key for pool in pools for key in pool.labels}
    unknown = sorted(key for key in asked if not carried_without_stack(key))
    needed = [requested.required_keys(pool.labels, unknown) for pool in left]
    return [key for key in unknown if needed and all(key in keys for keys in needed)]


def carried_without_stack(key: str) -> bool:
    """Return whether a cloud, Kubernetes, Karpenter or a driver's software puts a label on nodes."""
    by_cloud = (cloud.resources.own_labels.search(key) for cloud in clouds.known())
    return bool(_OF_KUBERNETES.search(key)) or drivers.labels_nodes(key) or any(by_cloud)


def _check_taints(
    pod: Pod, pools: list[PoolPlan], added: list[Toleration], *, is_placed: bool
) -> list[PoolPlan]:
    given = [*admitted_tolerations(pod), *added]
    kept = {pool.name: untolerated_taints(pool.taints, given) for pool in pools}
    borne = [pool for pool in pools if not kept[pool.name]]
    if borne:
        return borne
    missing = list(dict.fromkeys(taint for taints in kept.values() for taint in taints))
    report = pod.resource.subject.error if is_placed else pod.resource.subject.warning
    report(
        *pod.path,
        "tolerations",
        rule="taints-not-tolerated",
        what=f"tolerates the taints of no pool {'that has its devices' if is_placed else 'of the stack'}: "
        + "; ".join(f"{name} has {', '.join(map(str, taints))}" for name, taints in kept.items()),
        fix=f"tolerations: [{', '.join(map(toleration_text, missing))}]",
    )
    return []


def _labels(pool: PoolPlan) -> str:
    return ", ".join(f"{key}={value}" for key, value in pool.labels.items())


def admitted_tolerations(pod: Pod) -> list[Toleration]:
    """Return a pod's own tolerations as the API server would store them."""
    taken: list[Toleration] = []
    for index, written in enumerate(sequence(pod.spec.get("tolerations"))):
        refused = list(_refusals(mapping(written)))
        for one in refused:
            field = () if one.field is None else (one.field,)
            pod.resource.subject.error(
                *pod.path,
                "tolerations",
                index,
                *field,
                rule="toleration-refused",
                what=one.what,
                got=str(one.got),
                allowed=one.allowed,
                fix=one.fix,
            )
        meant = Toleration.of(written)
        taken.append(replace(meant, operator="Exists") if refused and not meant.value else meant)
    return taken


def _refusals(written: Mapping[str, Any]) -> Iterator[_Refusal]:
    operator, effect, value = (written.get(key) for key in ("operator", "effect", "value"))
    if operator and operator not in (*_OPERATORS, *_BEHIND_A_GATE):
        yield _Refusal(
            field="operator",
            what="is rejected: it is not an operator",
            got=operator,
            allowed=", ".join(_OPERATORS),
            fix="operator: Exists, or Equal with the taint's value",
        )
    elif operator == "Exists" and value:
        yield _Refusal(
            field="value",
            what="is rejected: must be empty with operator Exists",
            got=value,
            allowed="no value",
            fix="leave value out, or write operator: Equal",
        )
    elif not written.get("key") and operator != "Exists":
        yield _Refusal(
            field=None,
            what="is rejected: a toleration without a key must have operator Exists",
            got=operator or _OPERATORS[0],
            allowed="Exists",
            fix="operator: Exists, which tolerates every taint, or name the taint's key",
        )
    if effect and effect not in _EFFECTS:
        yield _Refusal(
            field="effect",
            what="is rejected: it is not an effect",
            got=effect,
            allowed=", ".join(_EFFECTS),
            fix="the taint's effect, or none for every effect",
        )
    elif written.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield _Refusal(
            field="effect",
            what="is rejected: must be NoExecute where tolerationSeconds is given",
            got=effect,
            allowed="NoExecute",
            fix="leave tolerationSeconds out, or write effect: NoExecute",
        )
