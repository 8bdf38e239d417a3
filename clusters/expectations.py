"""What a planned cluster expects of the running one, in the terms of the preflight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusters.preflight import Wanted

if TYPE_CHECKING:
    from fleet.plan.model import ClusterPlan


def expectations(cluster: ClusterPlan) -> Wanted:
    """Derive them from the plan."""
    installs = {release.driver: release.name for release in cluster.releases}
    return Wanted(
        kubernetes=cluster.kubernetes,
        installs=installs,
        uses=(),
        pools={pool.name: (dict(pool.labels), pool.min_nodes) for pool in cluster.pools},
    )
