"""Which Kubernetes and driver versions run, and until when somebody supports them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Literal

from dra_fleet import clouds, drivers
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.review.model import Version

if TYPE_CHECKING:
    from dra_fleet.clouds.resources import Support
    from dra_fleet.model.plan import ClusterPlan, FleetPlan, ReleasePlan
    from dra_fleet.review.was import Was, WasCluster

_SOON = dt.timedelta(days=90)
"""Before its end a version is called `ending`: about the time that an upgrade of a fleet takes."""


def versions(plan: FleetPlan, was: Was, today: dt.date) -> tuple[Version, ...]:
    """The versions of every cluster, those that end first in front.

    Args:
        plan: The stack.
        was: How it was.
        today: The day of the preview, so that the same events always give the same review.
    """
    found: list[Version] = []
    for cluster in plan.clusters:
        before = was.clusters.get(cluster.name)
        found.append(_kubernetes(cluster, before, today))
        support = clouds.named(cluster.cloud).resources.support
        if support is not None:
            found.append(_managed(cluster, support, before, today))
        found += [_release(cluster, release, before) for release in cluster.releases]
    order = {"ended": 0, "ending": 1, "unknown": 2, "supported": 2}
    return tuple(sorted(found, key=lambda item: order[item.status]))


def _kubernetes(cluster: ClusterPlan, before: WasCluster | None, today: dt.date) -> Version:
    entry = kubernetes_facts().minor(cluster.kubernetes)
    floor = f"at least patch {entry.patch_floor}: {entry.patch_reason}" if entry and entry.patch_floor else ""
    return Version(
        cluster=cluster.name,
        component="Kubernetes",
        version=cluster.kubernetes,
        before=_changed(before.kubernetes if before else "", cluster.kubernetes),
        supported_until=entry.end_of_life if entry else None,
        by="upstream",
        status=_status(entry.end_of_life if entry else None, today),
        note=floor,
        source=str(entry.source) if entry else "",
    )


def _managed(cluster: ClusterPlan, support: Support, before: WasCluster | None, today: dt.date) -> Version:
    end = support.standard_end(cluster.kubernetes)
    return Version(
        cluster=cluster.name,
        component="Kubernetes",
        version=cluster.kubernetes,
        before=_changed(before.kubernetes if before else "", cluster.kubernetes),
        supported_until=end,
        by=support.by,
        status=_status(end, today),
        note="" if end else "no public date was found",
        source=support.source(),
    )


def _release(cluster: ClusterPlan, release: ReleasePlan, before: WasCluster | None) -> Version:
    facts = drivers.facts_of(release.driver)
    chart = facts.version(release.version) if facts else None
    newest = facts.versions[-1].version if facts else release.version
    notes = ["its project publishes no end dates"]
    if chart is not None and not chart.verified:
        notes.append("the chart's values were not verified against the published chart")
    if newest != release.version:
        notes.append(f"{newest} is the newest known")
    return Version(
        cluster=cluster.name,
        component=release.name,
        version=release.version,
        before=_changed(before.releases.get(release.name, "") if before else "", release.version),
        supported_until=None,
        by="its project",
        status="unknown",
        note="; ".join(notes),
        source=str(chart.source) if chart else "",
    )


def _changed(before: str, now: str) -> str:
    return before if before != now else ""


def _status(end: dt.date | None, today: dt.date) -> Literal["supported", "ending", "ended", "unknown"]:
    if end is None:
        return "unknown"
    if end <= today:
        return "ended"
    return "ending" if end - today <= _SOON else "supported"
