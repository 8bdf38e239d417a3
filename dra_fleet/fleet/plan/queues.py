"""Queues: Kueue's release, a queue for each team, and what each workload takes of a quota."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.drivers.common.values import merged, value_at
from dra_fleet.fleet.plan.classes import classes_on
from dra_fleet.fleet.plan.queue_checks import check_mappings, check_queue, check_workload, counted_as
from dra_fleet.fleet.queueing import kueue
from dra_fleet.model.plan import NamespacePlan, QueuePlan, ReleasePlan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.core.findings.refusals import Findings
    from dra_fleet.fleet.settings import FleetSettings
    from dra_fleet.model.plan import ComputeDomainPlan
    from dra_fleet.model.queues import QueuesSettings


def check_queues(settings: FleetSettings, findings: Findings) -> None:
    """Refuse what is wrong with the queues themselves, whichever workloads are in them."""
    queues = settings.queues
    if queues is None:
        return
    version = kueue.versions().get(queues.version)
    if version is None:
        findings.unknown(
            "queues",
            "version",
            what="is no version of Kueue's chart that this program knows",
            got=queues.version,
            known=list(kueue.versions()),
        )
    else:
        for refusal in check_values(version, queues.values):
            findings.refuse(refusal, "queues", "values")
    if value_at(queues.values, ".".join(kueue.CONFIGURATION)) is not None:
        findings.error(
            "queues",
            "values",
            *kueue.CONFIGURATION,
            what="is made of deviceClassMappings and must not be given too",
            fix="remove it",
        )
    check_mappings(queues, findings)
    for name in queues.cluster_queues:
        check_queue(
            name, settings, queues, _classes_on(queues.cluster_queues[name].cluster, settings), findings
        )


def plan_release(cluster: str, settings: FleetSettings) -> tuple[ReleasePlan, ...]:
    """Kueue's release, on a cluster that has a queue."""
    queues = settings.queues
    version = kueue.versions().get(queues.version) if queues is not None else None
    if queues is None or version is None or not _queues_of(cluster, queues):
        return ()
    values = merged(kueue.chart_values(queues.device_class_mappings, settings.namespace), queues.values)
    return (
        ReleasePlan(
            name=kueue.NAME,
            driver=kueue.NAME,
            chart=version.chart,
            version=version.version,
            repository=version.repository,
            namespace=kueue.NAMESPACE,
            values=values,
        ),
    )


def plan_namespaces(releases: Sequence[ReleasePlan]) -> tuple[NamespacePlan, ...]:
    """Where Kueue runs; its pod needs nothing of the host."""
    return tuple(NamespacePlan(name=release.namespace, labels={}) for release in releases)


def plan_queues(cluster: str, settings: FleetSettings) -> tuple[QueuePlan, ...]:
    """The queues of a cluster in the order of their names."""
    queues = settings.queues
    if queues is None:
        return ()
    return tuple(
        QueuePlan(
            name=name,
            namespace=settings.namespace,
            cohort=queue.cohort,
            quotas=dict(sorted(queue.nominal_quota.items())),
            borrowing=dict(sorted(queue.borrowing_limit.items())),
            reclaims=queue.reclaim_within_cohort,
            after=(kueue.NAME,),
        )
        for name in _queues_of(cluster, queues)
        if (queue := queues.cluster_queues[name])
    )


def quota_of(
    name: str, settings: FleetSettings, domains: Sequence[ComputeDomainPlan], findings: Findings
) -> Mapping[str, int]:
    """What each copy of a workload takes of its queue's quotas, by their names; nothing without a queue."""
    workload = settings.workloads[name]
    if workload.queue is None:
        return {}
    asked = check_workload(name, settings, domains, findings)
    if asked is None or settings.queues is None:
        return {}
    named = counted_as(settings.queues)
    taken = Counter[str]()
    for device_class, count in asked.items():
        taken[named[device_class]] += count
    return dict(sorted(taken.items()))


def _queues_of(cluster: str, queues: QueuesSettings) -> list[str]:
    return sorted(name for name, queue in queues.cluster_queues.items() if queue.cluster == cluster)


def _classes_on(cluster: str, settings: FleetSettings) -> frozenset[str]:
    """The DeviceClasses that a cluster has."""
    has = settings.clusters.get(cluster)
    return frozenset() if has is None else classes_on(has, settings)
