"""What a planned cluster expects of the running one, in the terms of the preflight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.clusters.preflight import Wanted

if TYPE_CHECKING:
    from dra_fleet.model.plan import ClusterPlan


def expectations(cluster: ClusterPlan) -> Wanted:
    """Derive them from the plan."""
    installs = {release.driver: release.name for release in cluster.releases}
    return Wanted(
        kubernetes=cluster.kubernetes,
        installs=installs,
        uses=sorted(_drivers_of_claims(cluster) - installs.keys()),
        pools={pool.name: (dict(pool.labels), pool.min_nodes) for pool in cluster.pools},
        plugins={
            pool.name: driver
            for pool in cluster.pools
            for driver in (drivers.in_place_of_plugins(pool.machine) if pool.by_plugin else ())
        },
    )


def _drivers_of_claims(cluster: ClusterPlan) -> set[str]:
    """The drivers whose charts own the classes that claims ask for; other classes name no driver."""
    asked = {name for claim in (*cluster.templates, *cluster.claims) for name in claim.spec.classes()}
    owners = [drivers.of_class(name) for name in asked]
    return {owner.facts.driver for owner in owners if owner is not None}
