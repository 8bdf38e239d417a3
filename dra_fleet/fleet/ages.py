"""Versions and facts of a stack that are behind the catalogue, and the age of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from dra_fleet import drivers
from dra_fleet.fleet.queueing import kueue
from dra_fleet.kubernetes.minors import kubernetes_facts, minor_order

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Sequence

    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.model.plan import ClusterPlan, FleetPlan, ReleasePlan

State = Literal["current", "behind", "ended", "old", "unknown"]

BEHIND: Final[frozenset[State]] = frozenset({"behind", "ended", "old"})

MOST_DAYS: Final = 180
"""Maximum age of a price in days."""


@dataclass(frozen=True, kw_only=True)
class Age:
    """A version or fact that a cluster of a stack uses, compared with the catalogue.

    Attributes:
        cluster: Name of the cluster.
        subject: Component, such as "Kubernetes" or "chart gpu-operator".
        used: The version or fact that the stack uses.
        newest: The newest that the catalogue knows; "" if it knows none.
        state: `behind`: the catalogue knows a newer one. `ended`: upstream fixes have ended. `old`: the fact
            was read more than `MOST_DAYS` ago. `unknown`: the catalogue does not know it.
        date: Day on which the fact was read from its source.
    """

    cluster: str
    subject: str
    used: str
    newest: str
    state: State
    date: dt.date | None = None


def ages(plan: FleetPlan, today: dt.date) -> tuple[Age, ...]:
    """Return the age of every version and price of a plan, those of each cluster together.

    Args:
        plan: The plan.
        today: The day to compare dates with.
    """
    return tuple(age for cluster in plan.clusters for age in _of_cluster(cluster, today))


def catalogue_date() -> dt.date:
    """Return the newest day on which a driver's or Kubernetes' facts were read."""
    return max(kubernetes_facts().date, *(driver.facts.date for driver in drivers.known()))


def _of_cluster(cluster: ClusterPlan, today: dt.date) -> Iterator[Age]:
    yield _of_kubernetes(cluster, today)
    yield from (_of_release(cluster.name, release) for release in cluster.releases)
    priced = {pool.machine.name: pool.machine.price for pool in cluster.pools}
    for name, price in sorted(priced.items()):
        if price is not None:
            old = (today - price.date).days > MOST_DAYS
            yield Age(
                cluster=cluster.name,
                subject=f"price of {name}",
                used=f"{price.per_hour:g} {price.currency}/hour",
                newest="",
                state="old" if old else "current",
                date=price.date,
            )


def _of_kubernetes(cluster: ClusterPlan, today: dt.date) -> Age:
    facts = kubernetes_facts()
    entry = facts.minor(cluster.kubernetes)
    state: State = "current" if minor_order(cluster.kubernetes) >= minor_order(facts.newest) else "behind"
    if entry is not None and entry.end_of_life <= today:
        state = "ended"
    return Age(
        cluster=cluster.name,
        subject="Kubernetes",
        used=cluster.kubernetes,
        newest=facts.newest,
        state=state,
        date=facts.date,
    )


def _of_release(cluster: str, release: ReleasePlan) -> Age:
    known = known_versions(release)
    versions = [entry.version for entry in known]
    state: State = "unknown"
    if release.version in versions:
        state = "current" if release.version == versions[-1] else "behind"
    return Age(
        cluster=cluster,
        subject=f"chart {release.name}",
        used=release.version,
        newest=versions[-1] if versions else "",
        state=state,
        date=known[-1].date if known else None,
    )


def known_versions(release: ReleasePlan) -> Sequence[ChartVersion]:
    """Return the versions of a release's chart, the newest last."""
    if release.name == kueue.NAME:
        return [*kueue.versions().values()]
    for driver in drivers.known():
        operator = driver.resources.operator
        if operator is not None and operator.chart == release.name:
            return operator.versions()
    facts = drivers.facts_of(release.driver)
    return facts.versions if facts is not None else ()
