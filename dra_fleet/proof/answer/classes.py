"""The stack's own classes on each pool: how many devices of a node are of the class, and why none is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.model.nodes import ONE_POD
from dra_fleet.proof.answer.misses import why_too_few
from dra_fleet.proof.answer.verdicts import ClassFit, ClassProof
from dra_fleet.proof.demand.asks import ask_of, compile_problem
from dra_fleet.proof.demand.pod_sets import PodSet
from dra_fleet.proof.search.suitability import suitability_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.proof.answer.messages import Findings
    from dra_fleet.proof.demand.asks import Object

_REQUEST = "device"


def prove_classes(
    cluster: ClusterPlan, classes: Mapping[str, Object], groups: Sequence[NodeGroup]
) -> list[ClassProof]:
    """The stack's own classes on one cluster, but for those whose selectors do not compile.

    Args:
        cluster: the cluster.
        classes: its DeviceClasses by name.
        groups: its nodes.
    """
    minor = cluster.kubernetes
    return [
        ClassProof(
            cluster=cluster.name,
            name=item.name,
            pools=tuple(_fit(item.name, classes, group, minor) for group in groups),
        )
        for item in cluster.classes
        if not any(compile_problem(selector.cel.expression, minor) for selector in item.spec.selectors)
    ]


def warn_unmatched(proofs: Iterable[ClassProof], clusters: Iterable[ClusterPlan], findings: Findings) -> None:
    """Tell of classes that no device of any cluster is of; where a claim asks for one, the claim tells.

    Args:
        proofs: the classes on all clusters.
        clusters: the clusters, with their claims.
        findings: collects what is said.
    """
    asked = {
        name
        for cluster in clusters
        for item in (*cluster.templates, *cluster.claims)
        for name in item.spec.classes()
    }
    fits: dict[str, list[ClassFit]] = {}
    for proof in proofs:
        fits.setdefault(proof.name, []).extend(proof.pools)
    for name, found in fits.items():
        if name not in asked and found and all(fit.matches == 0 for fit in found):
            what = f"no device of any cluster is of this class: {found[0].reason}"
            findings.warn("classes", name, what=what, fix=found[0].fix)


def _fit(name: str, classes: Mapping[str, Object], group: NodeGroup, minor: str) -> ClassFit:
    body = {"devices": {"requests": [{"name": _REQUEST, "exactly": {"deviceClassName": name}}]}}
    claim = ask_of(name, body, classes)
    anywhere = PodSet(
        name=name,
        claim=claim,
        copies=1,
        resources=ONE_POD,
        node_selector={},
        tolerations=None,
    )
    found = suitability_of(anywhere, group, minor)
    ask, matched = found.matches[0][0]
    devices = len(group.shape.devices)
    if found.doubt:
        return ClassFit(pool=group.pool, matches=None, devices=devices, reason=found.doubt)
    if matched.certain:
        return ClassFit(pool=group.pool, matches=len(matched.certain), devices=devices)
    if not devices:
        reason, fix = f"the nodes of pool {group.pool} publish no devices", "install a driver for them"
    else:
        reason, fix = why_too_few(ask, matched.misses, 0, devices, f"of a node of pool {group.pool}")
    return ClassFit(pool=group.pool, matches=0, devices=devices, reason=reason, fix=fix)
