"""How devices are shared and what keeps their holders apart; what copies ask for, get and strand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.review.model import Amounts, Shared, Use
from dra_fleet.review.was import layout_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.fleet import FleetSettings
    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.proof.answer.costs import DeviceAmounts
    from dra_fleet.proof.answer.verdicts import Proof


def sharing(settings: FleetSettings, plan: FleetPlan) -> tuple[Shared, ...]:
    """Every pool with devices, and every workload whose pods share devices; those without isolation first."""
    found = [*_workloads(settings), *_pools(plan)]
    return tuple(sorted(found, key=lambda item: item.isolated))


def _pools(plan: FleetPlan) -> Iterator[Shared]:
    for cluster in plan.clusters:
        for pool in cluster.pools:
            if pool.isolation:
                layout = layout_text(pool.sharing)
                yield Shared(
                    cluster=cluster.name,
                    kind="pool",
                    name=pool.name,
                    strategy=f"{pool.sharing.strategy}: {layout}" if layout else pool.sharing.strategy,
                    isolation=pool.isolation,
                    isolated=True,
                    accepted="",
                )


def _workloads(settings: FleetSettings) -> Iterator[Shared]:
    for name, workload in sorted(settings.workloads.items()):
        if workload.claim not in settings.claims:
            continue
        strategy = next(
            filter(None, (driver.shared_by(workload, settings) for driver in drivers.known())), ""
        )
        if strategy:
            yield Shared(
                cluster=workload.cluster,
                kind="workload",
                name=name,
                strategy=strategy,
                isolation="its pods share devices: neither memory nor faults are kept apart",
                isolated=False,
                accepted=workload.accept.get("isolation", ""),
            )


def uses(proof: Proof) -> tuple[Use, ...]:
    """What one copy of each workload asks for, gets and strands on each pool that takes it."""
    return tuple(
        Use(
            cluster=item.cluster,
            workload=item.name,
            pool=fit.pool,
            copies=item.copies,
            asked=_amounts(fit.cost.asked),
            got=_amounts(fit.cost.got),
            stranded=_amounts(fit.cost.stranded),
            left_on_node=_amounts(fit.cost.left_on_node),
        )
        for item in proof.workloads
        for fit in item.pools
        if fit.cost is not None
    )


def _amounts(known: DeviceAmounts) -> Amounts:
    return Amounts(memory=known.memory, multiprocessors=known.multiprocessors)
