"""The matrix of claims and pools, and the verdict on each workload, from the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.model.hardware import OWN
from dra_fleet.review.model import Cell, Column, Cost, Matrix, Money, PoolCost, Row, Workload
from dra_fleet.review.pools import nodes_now

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.model.hardware import Machine, Price
    from dra_fleet.model.plan import ClusterPlan, FleetPlan, PoolPlan
    from dra_fleet.proof.answer.verdicts import ClaimProof, PoolFit, Proof, WorkloadProof
    from dra_fleet.review.model import Word
    from dra_fleet.review.running import Running, Was, WasPool


CURRENCY = "USD"

_Key = tuple[str, str, str]


def matrices(proof: Proof, before: Proof | None) -> tuple[Matrix, ...]:
    """Return one matrix per cluster with claims. Pools with equal answers share a column."""
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
    """Return the matches of the request that the fewest devices match, by its best alternative."""
    best: dict[str, int] = {}
    for name, count in requests.items():
        request = name.partition("/")[0]
        best[request] = max(best.get(request, 0), count)
    return min(best.values(), default=0)


def workloads(
    plan: FleetPlan, proof: Proof, before: Proof | None, running: Running | None
) -> tuple[Workload, ...]:
    """Return the verdict on each workload; those that do not certainly fit come first."""
    namespaces = {
        (c.name, item.name): item.namespace for c in plan.clusters for item in (*c.workloads, *c.demand)
    }
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


def cost(plan: FleetPlan, was: Was, running: Running | None) -> Cost:
    """Return the cost of every pool, before and after, and the sums.

    Nodes now are those that run, where the clusters were asked, else the least nodes as it was. After the
    change a pool has as many nodes as now, within its new bounds.
    """
    found: list[PoolCost] = []
    for cluster in plan.clusters:
        known = was.clusters.get(cluster.name)
        before: Mapping[str, WasPool] = known.pools if known else {}
        planned = {pool.name: pool for pool in cluster.pools}
        for name in sorted({*planned, *before}):
            now = nodes_now(running, cluster.name, name)
            found.append(_pool(cluster.name, name, planned.get(name), before.get(name), now))
    planned_clusters = {cluster.name for cluster in plan.clusters}
    for name, gone in was.clusters.items():
        if name not in planned_clusters:
            for pool, old in gone.pools.items():
                found.append(_pool(name, pool, None, old, nodes_now(running, name, pool)))
    return Cost(
        currency=CURRENCY,
        basis=_basis(was, running),
        now=_sum(item.now for item in found),
        after=_sum(item.after for item in found),
        at_min=_sum(item.at_min for item in found),
        at_max=_sum(item.at_max for item in found),
        at_max_before=_sum(item.at_max_before for item in found),
        pools=tuple(found),
        unknown=_unknown(plan, found),
        not_counted=_not_counted(plan.clusters),
    )


def _pool(cluster: str, name: str, plan: PoolPlan | None, was: WasPool | None, now: int | None) -> PoolCost:
    before = now if now is not None else was.min_nodes if was else 0
    after = 0 if plan is None else min(max(before, plan.min_nodes), plan.max_nodes)
    machine = plan.machine if plan else was.machine if was else None
    machine_before = was.machine if was else machine
    price, price_before = _price(machine), _price(machine_before)
    return PoolCost(
        cluster=cluster,
        pool=name,
        machine=plan.machine.name if plan else "",
        machine_before=was.machine_name if was else "",
        price=price.per_hour if price else None,
        price_before=price_before.per_hour if price_before else None,
        price_source=str(price.source) if price else "",
        price_date=price.date if price else None,
        price_region=price.region if price else "",
        now=_money(before, price_before),
        after=_money(after, price),
        at_min=_money(plan.min_nodes if plan else 0, price),
        at_max=_money(plan.max_nodes if plan else 0, price),
        at_max_before=_money(was.max_nodes if was else 0, price_before),
    )


def _price(machine: Machine | None) -> Price | None:
    return machine.price if machine else None


def _money(nodes: int, price: Price | None) -> Money:
    if not nodes:
        return Money(amount=0.0, unknown_nodes=0)
    if price is None:
        return Money(amount=None, unknown_nodes=nodes)
    return Money(amount=round(nodes * price.per_hour, 4), unknown_nodes=0)


def _sum(parts: Iterable[Money]) -> Money:
    items = list(parts)
    known = [item.amount for item in items if item.amount is not None]
    unknown = sum(item.unknown_nodes for item in items)
    nothing = unknown and not any(known)
    return Money(amount=None if nothing else round(sum(known), 4), unknown_nodes=unknown)


def _basis(was: Was, running: Running | None) -> str:
    if running is not None:
        return "now: the nodes that run; after: as many, within each pool's bounds"
    if was.source:
        return f"now: each pool's least nodes by {was.source}; after: as many, within each pool's bounds"
    return "now: nothing is known to run; after: each pool's least nodes"


def _unknown(plan: FleetPlan, found: Sequence[PoolCost]) -> tuple[str, ...]:
    clouds = {cluster.name: cluster.cloud for cluster in plan.clusters}
    reported: list[str] = []
    for item in found:
        if item.machine and item.price is None:
            why = (
                "the machines are there already; what they cost is their owner's to say"
                if clouds.get(item.cluster) == OWN
                else "the catalogue knows no public price"
            )
            reported.append(f"pool {item.pool} of cluster {item.cluster}, machine {item.machine}: {why}")
        if item.machine_before not in ("", item.machine) and item.price_before is None:
            reported.append(
                f"pool {item.pool} of cluster {item.cluster} as it was, machine {item.machine_before}: "
                "no price is known"
            )
    return tuple(reported)


def _not_counted(clusters: Sequence[ClusterPlan]) -> tuple[str, ...]:
    managed = [cluster.name for cluster in clusters if cluster.cloud != OWN]
    if not managed:
        return ()
    names = ", ".join(managed)
    return (
        f"control planes, system pools, disks, addresses and traffic of {names}",
        "discounts, reservations, spot prices and other regions' prices",
    )
