"""Whether a fleet's machines can cost more than its owner allows, at the most nodes that its pools may have.

Counted is what reviews count: list prices on demand, as the clouds' facts have them, of the machines that the
stack makes. Control planes, system pools, disks and traffic are not in it, nor are discounts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import clouds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.core.findings.refusals import Findings
    from dra_fleet.fleet.settings import FleetSettings
    from dra_fleet.model.plan import ClusterPlan


def check_budget(settings: FleetSettings, clusters: Iterable[ClusterPlan], findings: Findings) -> None:
    """Refuse a fleet that may cost more than its budget, and name the pools whose cost nobody knows."""
    if settings.budget is None:
        return
    allowed = settings.budget.per_hour
    costs: dict[str, float] = {}
    for cluster in clusters:
        for pool in cluster.pools if clouds.named(cluster.cloud).makes_nodes else ():
            name = f"{pool.max_nodes} x {pool.machine.name} in pool {pool.name} of cluster {cluster.name}"
            if pool.machine.price is not None:
                costs[name] = pool.max_nodes * pool.machine.price.per_hour
            elif pool.max_nodes:
                findings.warnings.append(f"budget: {name} are not counted: no price of that machine is known")
    total = round(sum(costs.values()), 2)
    if total > allowed:
        dearest = max(costs, key=lambda name: costs[name])
        findings.error(
            "budget",
            "perHour",
            what=f"is less than the fleet costs at its maximum, {total:.2f} USD per hour",
            got=f"{allowed:g}",
            allowed=f"at least {total:.2f}",
            fix=f"lower nodes.max, of {dearest} first ({costs[dearest]:.2f} USD), or raise the budget",
        )
