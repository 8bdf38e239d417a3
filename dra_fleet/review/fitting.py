"""The matrix of claims and pools, and the verdict on each workload, from the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.review.model import Cell, Column, Matrix, Row, Workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.proof.answer.verdicts import ClaimProof, PoolFit, Proof, WorkloadProof
    from dra_fleet.review.model import Word
    from dra_fleet.review.running import Running

_Key = tuple[str, str, str]


def matrices(proof: Proof, before: Proof | None) -> tuple[Matrix, ...]:
    """One matrix per cluster that has claims. Pools that answer every claim alike share a column."""
    was = _cells(before) if before else {}
    clusters = dict.fromkeys(item.cluster for item in proof.claims)
    return tuple(
        _matrix(cluster, [item for item in proof.claims if item.cluster == cluster], was)
        for cluster in clusters
    )


def _cells(proof: Proof) -> dict[_Key, int | None]:
    return {(item.cluster, item.name, fit.pool): fit.per_node for item in proof.claims for fit in item.pools}


def _matrix(cluster: str, claims: Sequence[ClaimProof], was: Mapping[_Key, int | None]) -> Matrix:
    table = [
        {fit.pool: _cell(fit, was.get((cluster, item.name, fit.pool))) for fit in item.pools}
        for item in claims
    ]
    alike: dict[tuple[Cell, ...], list[str]] = {}
    for pool in dict.fromkeys(fit.pool for item in claims for fit in item.pools):
        alike.setdefault(tuple(cells[pool] for cells in table), []).append(pool)
    return Matrix(
        cluster=cluster,
        columns=tuple(Column(title=_title(pools), pools=tuple(pools)) for pools in alike.values()),
        rows=tuple(
            Row(
                claim=item.name,
                word=item.word,
                reason=item.reason,
                fix=item.fix,
                cells=tuple(cells[pools[0]] for pools in alike.values()),
            )
            for item, cells in zip(claims, table, strict=True)
        ),
    )


def _title(pools: Sequence[str]) -> str:
    return pools[0] if len(pools) == 1 else f"{pools[0]} and {len(pools) - 1} more"


def _cell(fit: PoolFit, before: int | None) -> Cell:
    matched = _matched(fit.requests)
    if fit.per_node is None:
        word = "unknown"
    elif fit.per_node:
        word = "fits"
    else:
        word = "short" if matched else "none"
    return Cell(
        word=word,
        matched=matched,
        devices=fit.devices,
        per_node=fit.per_node,
        at_min=fit.at_min,
        at_max=fit.at_max,
        reason=fit.reason.removeprefix(f"pool {fit.pool}: "),
        fix=fit.fix,
        before=before,
    )


def _matched(requests: Mapping[str, int]) -> int:
    """Of the request that the fewest devices match, by its best alternative."""
    best: dict[str, int] = {}
    for name, count in requests.items():
        request = name.partition("/")[0]
        best[request] = max(best.get(request, 0), count)
    return min(best.values(), default=0)


def workloads(
    plan: FleetPlan, proof: Proof, before: Proof | None, running: Running | None
) -> tuple[Workload, ...]:
    """The verdict on each workload; those that do not certainly fit come first."""
    namespaces = {(c.name, item.name): item.namespace for c in plan.clusters for item in c.workloads}
    was: dict[tuple[str, str], Word] = {
        (item.cluster, item.name): item.word for item in (before.workloads if before else ())
    }
    order = {"error": 0, "never": 0, "possible": 1, "unknown": 1}
    return tuple(
        Workload(
            cluster=item.cluster,
            namespace=namespaces.get((item.cluster, item.name), ""),
            name=item.name,
            claim=item.claim,
            copies=item.copies,
            running=_running(item, running),
            word=item.word,
            at_min=item.at_min,
            before=was.get((item.cluster, item.name)),
            reason=item.reason,
            fix=item.fix,
            order=item.order,
            accepted=item.accepted,
        )
        for item in sorted(proof.workloads, key=lambda one: order.get(one.word, 2))
    )


def _running(item: WorkloadProof, running: Running | None) -> int | None:
    asked = running.clusters.get(item.cluster) if running else None
    if asked is None:
        return None
    found = asked.workloads.get(item.name)
    return sum(bool(pod.devices) for pod in found.pods) if found else 0
