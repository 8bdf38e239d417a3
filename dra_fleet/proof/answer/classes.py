"""The stack's own classes on each pool: how many devices of a node are of the class, and why none is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from dra_fleet.model.nodes import ONE_POD
from dra_fleet.proof.answer.messages import NO_DEVICES, why_unmatched
from dra_fleet.proof.answer.verdicts import ClassFit, ClassProof
from dra_fleet.proof.demand.asks import ask_of, compile_problem
from dra_fleet.proof.demand.pod_sets import PodSet
from dra_fleet.proof.search.suitability import suitability_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.proof.answer.messages import ProofFindings
    from dra_fleet.proof.demand.asks import Ask, Object
    from dra_fleet.proof.search.placements import Placements
    from dra_fleet.proof.search.suitability import Miss

_REQUEST = "device"


class Missed(Struct, kw_only=True):
    """Reasons why devices do not match a class, on all checked pools."""

    ask: Ask
    pools: list[str] = field(default_factory=list[str])
    devices: int = 0
    misses: list[Miss] = field(default_factory=list["Miss"])

    def reason(self) -> tuple[str, str]:
        """Return why the nearest device of all pools does not match the class, and the fix."""
        pools = (
            f"pool {self.pools[0]}" if len(self.pools) == 1 else f"each of the pools {', '.join(self.pools)}"
        )
        subject = f"class {self.ask.class_name}"
        if not self.misses:
            return (
                f"{subject} matches no device: the nodes of {pools} publish none",
                NO_DEVICES,
            )
        return why_unmatched(subject, self.misses, self.devices, f"of a node of {pools}", with_place=False)


def prove_classes(
    cluster: ClusterPlan,
    placements: Placements,
    groups: Sequence[NodeGroup],
    kinds: Sequence[int],
    missed: dict[str, Missed],
) -> list[ClassProof]:
    """Prove the stack's own classes on one cluster, except those whose selectors do not compile.

    Args:
        cluster: the cluster.
        placements: what matches on its nodes.
        groups: its nodes.
        kinds: per group the first one that means the same.
        missed: collects by class why devices are not of it.
    """
    minor = cluster.kubernetes
    return [
        ClassProof(
            cluster=cluster.name,
            name=item.name,
            pools=tuple(_fits(_anywhere(item.name, placements.classes), groups, kinds, placements, missed)),
        )
        for item in cluster.classes
        if not any(compile_problem(selector.cel.expression, minor) for selector in item.spec.selectors)
    ]


def report_unmatched(
    proofs: Iterable[ClassProof],
    missed: dict[str, Missed],
    clusters: Iterable[ClusterPlan],
    findings: ProofFindings,
) -> None:
    """Report each class that matches no device of any cluster once, instead of each claim that uses it.

    Args:
        proofs: the classes on all clusters.
        missed: why devices are not of them.
        clusters: the clusters, with their claims.
        findings: holds what was said of claims and workloads, and collects this.
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
        if not found or any(fit.matches != 0 for fit in found):
            continue
        reason, fix = missed[name].reason()
        users = findings.without(name)
        if users:
            findings.refuse("classes", name, what=f"{reason}; used by {users}", fix=fix)
        elif name not in asked:
            findings.warn("classes", name, what=reason, fix=fix)


def _anywhere(name: str, classes: Mapping[str, Object]) -> PodSet:
    body = {"devices": {"requests": [{"name": _REQUEST, "exactly": {"deviceClassName": name}}]}}
    return PodSet(
        name=name,
        claim=ask_of(name, body, classes),
        copies=1,
        resources=ONE_POD,
        node_selector={},
        tolerations=None,
    )


def _fits(
    pod_set: PodSet,
    groups: Sequence[NodeGroup],
    kinds: Sequence[int],
    placements: Placements,
    missed: dict[str, Missed],
) -> Iterator[ClassFit]:
    of_kind = {kind: _fit(pod_set, groups[kind], placements) for kind in dict.fromkeys(kinds)}
    for group, kind in zip(groups, kinds, strict=True):
        fit, ask, misses = of_kind[kind]
        if fit.matches == 0:
            seen = missed.setdefault(pod_set.name, Missed(ask=ask))
            seen.pools.append(group.pool)
            seen.devices += fit.devices
            if group is groups[kind]:
                seen.misses += misses
        yield replace(fit, pool=group.pool)


def _fit(pod_set: PodSet, group: NodeGroup, placements: Placements) -> tuple[ClassFit, Ask, Sequence[Miss]]:
    found, devices = suitability_of(pod_set, group, placements.suitability), len(group.shape.devices)
    (ask,) = pod_set.claim.asks
    if found.doubt:
        return ClassFit(pool=group.pool, matches=None, devices=devices, reason=found.doubt), ask, ()
    ((_, matched),) = found.matches[0]
    if matched.certain:
        return ClassFit(pool=group.pool, matches=len(matched.certain), devices=devices), ask, ()
    reason, fix = "its nodes publish no devices", NO_DEVICES
    if devices:
        reason, fix = why_unmatched(
            f"class {ask.class_name}", matched.misses, devices, "of a node", with_place=False
        )
    fit = ClassFit(pool=group.pool, matches=0, devices=devices, reason=reason, fix=fix)
    return fit, ask, matched.misses
