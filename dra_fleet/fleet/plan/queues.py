"""Queues: Kueue's release, a queue for each team, and what each workload takes of a quota."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dra_fleet.core.findings.errors import under
from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.drivers.common.values import merged, value_at
from dra_fleet.fleet.plan.claims import classes_on
from dra_fleet.fleet.queueing import kueue
from dra_fleet.model.claims import FirstAvailableRequest
from dra_fleet.model.plan import NamespacePlan, QueuePlan, ReleasePlan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.fleet.settings import FleetSettings
    from dra_fleet.model.claims import ClaimSettings, RequestSettings
    from dra_fleet.model.classes import ClusterQueueSettings, QueuesSettings
    from dra_fleet.model.plan import ComputeDomainPlan


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
            what="is not a known version of Kueue's chart",
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
    """Return Kueue's namespace; its pod needs no rights on the host."""
    return tuple(NamespacePlan(name=release.namespace, labels={}) for release in releases)


def plan_queues(cluster: str, settings: FleetSettings) -> tuple[QueuePlan, ...]:
    """Return the queues of a cluster in the order of their names."""
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
    """Return what each copy of a workload consumes of its queue's quotas, by name; empty without a queue."""
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
    """Return the DeviceClasses of a cluster."""
    has = settings.clusters.get(cluster)
    return frozenset() if has is None else classes_on(has, settings)


# Workloads that Kueue would reject or never start, reported before anything is created.
#
# Source: https://github.com/kubernetes-sigs/kueue/blob/v0.19.0/pkg/dra/claims.go (which requests it counts),
# https://github.com/kubernetes-sigs/kueue/blob/v0.19.0/pkg/webhooks/clusterqueue_webhook.go and
# https://github.com/kubernetes-sigs/kueue/blob/v0.19.0/pkg/config/validation.go.


def check_mappings(queues: QueuesSettings, findings: Findings) -> None:
    """Refuse a class that two names count and a reserved name, which Kueue does not start with."""
    counted = counted_as(queues)
    for mapping, classes in queues.device_class_mappings.items():
        if mapping == kueue.RESERVED and not queues.version.startswith(kueue.NAME_IS_FREE):
            findings.error(
                "queues",
                "deviceClassMappings",
                mapping,
                what="is a name that Kueue 0.20 and later count pods by; Kueue would not start",
                fix="rename the mapping, also in the quotas of the queues",
            )
        for place, device_class in enumerate(classes):
            first = counted[device_class]
            if first != mapping or device_class in classes[:place]:
                findings.error(
                    "queues",
                    "deviceClassMappings",
                    mapping,
                    place,
                    what=f"is counted as {first} already; Kueue would not start",
                    got=device_class,
                    fix="name each class once",
                )


def check_queue(
    name: str, settings: FleetSettings, queues: QueuesSettings, classes: frozenset[str], findings: Findings
) -> None:
    """Refuse a queue of no cluster, quotas of nothing, and lending without a cohort.

    Args:
        name: the queue.
        settings: the stack file.
        queues: all queues.
        classes: the DeviceClasses of its cluster.
        findings: collects the problems.
    """
    queue, at = queues.cluster_queues[name], ("queues", "clusterQueues", name)
    if queue.cluster not in settings.clusters:
        findings.unknown(
            *at,
            "cluster",
            what="is not a cluster of this stack",
            got=queue.cluster,
            known=list(settings.clusters),
        )
        return
    for mapping in queue.nominal_quota:
        counted = queues.device_class_mappings.get(mapping)
        if counted is None:
            findings.unknown(
                *at,
                "nominalQuota",
                what="counts nothing: no mapping has this name",
                got=mapping,
                known=list(queues.device_class_mappings),
                fix="add it to deviceClassMappings",
            )
        elif not classes.intersection(counted):
            findings.unknown(
                *at,
                "nominalQuota",
                mapping,
                what=f"is a quota of classes that cluster {queue.cluster} does not have",
                got=", ".join(counted),
                known=list(classes),
                fix="count a class that a driver or the stack installs there",
                follows=(f"{under('clusters', queue.cluster, 'drivers')}.",),
            )
    for mapping in sorted(set(queue.borrowing_limit) - set(queue.nominal_quota)):
        findings.unknown(
            *at,
            "borrowingLimit",
            what="limits a class for which the queue has no quota",
            got=mapping,
            known=list(queue.nominal_quota),
            fix=f"add {mapping}: 0 to nominalQuota",
        )
    if queue.cohort is None and (queue.borrowing_limit or queue.reclaim_within_cohort != "Never"):
        key = "borrowingLimit" if queue.borrowing_limit else "reclaimWithinCohort"
        findings.error(
            *at, key, what="requires a cohort: no other queue lends to this queue", fix="name a cohort"
        )


def check_workload(
    name: str, settings: FleetSettings, domains: Sequence[ComputeDomainPlan], findings: Findings
) -> Mapping[str, int] | None:
    """Return, by class, the devices that a pod of a queued workload requests; None if one was rejected."""
    workload, at = settings.workloads[name], settings.place(name)
    known: Mapping[str, ClusterQueueSettings] = settings.queues.cluster_queues if settings.queues else {}
    queue = known.get(workload.queue or "")
    if settings.queues is None or queue is None:
        findings.unknown(
            *at, "queue", what="is not a queue of this stack", got=workload.queue or "", known=list(known)
        )
        return None
    if queue.cluster != workload.cluster:
        findings.error(
            *at,
            "queue",
            what=f"is a queue of cluster {queue.cluster}, and the workload runs on {workload.cluster}",
            got=workload.queue or "",
            allowed=", ".join(sorted(key for key, one in known.items() if one.cluster == workload.cluster)),
            fix="name a queue of the workload's cluster",
            follows=(under("queues", "clusterQueues", workload.queue or "", "cluster"),),
        )
        return None
    claim = settings.claims[workload.claim]
    refused = _uncounted(claim)
    if refused:
        findings.error(
            *at,
            "claim",
            what=f"cannot wait in a queue: {refused}, which Kueue does not count",
            got=workload.claim,
            fix="ask for a number of devices of one class in a claim per pod, or leave the queue out",
        )
        return None
    asked = Counter[str]()
    for request in claim.requests.values():
        if not isinstance(request, FirstAvailableRequest):
            asked[request.class_] += request.count or 1
    asked.update(domain.channel_class for domain in domains if domain.name == workload.compute_domain)
    return asked if _has_quota(name, asked, settings, settings.queues, findings) else None


def _uncounted(claim: ClaimSettings) -> str:
    """Return the fields of a claim that Kueue does not count; empty if it counts the claim."""
    if claim.shared:
        return "all pods share the claim"
    return next(
        (reported for request in claim.requests.values() if (reported := _uncounted_request(request))), ""
    )


def _uncounted_request(request: RequestSettings) -> str:
    if isinstance(request, FirstAvailableRequest):
        return "it has firstAvailable"
    if request.admin_access:
        return "it has adminAccess"
    return "it requests all devices of a node" if request.allocation_mode == "All" else ""


def _has_quota(
    name: str, asked: Mapping[str, int], settings: FleetSettings, queues: QueuesSettings, findings: Findings
) -> bool:
    """Return True if a gang's devices are all counted, and fit its queue's maximum."""
    workload, at = settings.workloads[name], settings.place(name)
    queue_name = workload.queue or ""
    queue = queues.cluster_queues[queue_name]
    quotas = (under("queues", "clusterQueues", queue_name, "nominalQuota"),)
    named = counted_as(queues)
    unmapped = sorted(set(asked) - set(named))
    if unmapped:
        findings.error(
            *at,
            "claim",
            what="requests a class that no mapping counts, so that Kueue never starts the workload",
            got=", ".join(unmapped),
            allowed=", ".join(sorted(named)),
            fix="add the class to a mapping of queues.deviceClassMappings",
            follows=quotas,
        )
        return False
    requested = Counter[str]()
    for device_class, count in asked.items():
        requested[named[device_class]] += count * workload.copies
    without = sorted(set(requested) - set(queue.nominal_quota))
    for mapping in without:
        findings.error(
            *at,
            "queue",
            what=f"has no quota of {mapping}, which the workload takes",
            got=queue_name,
            fix=f"add {mapping} to its nominalQuota; 0 lets it only borrow",
            follows=quotas,
        )
    excess = [
        key for key in requested if key not in without and requested[key] > most_of(queue_name, key, queues)
    ]
    for mapping in excess:
        most = most_of(queue_name, mapping, queues)
        per_copy = requested[mapping] // workload.copies
        fit = most // per_copy
        findings.error(
            *at,
            "copies",
            what=f"is a gang of {requested[mapping]} {mapping}; "
            f"queue {queue_name} never has more than {most}, "
            "so that not one of its pods would start",
            got=str(workload.copies),
            allowed=f"1 to {fit}" if fit else "",
            fix=f"run {fit} copies at most, or raise the quota" if fit else "raise the quota",
        )
    return not without and not excess


def counted_as(queues: QueuesSettings) -> Mapping[str, str]:
    """Return, by class, the name by which quotas count its devices; the first of two."""
    found: dict[str, str] = {}
    for mapping, classes in queues.device_class_mappings.items():
        for device_class in classes:
            found.setdefault(device_class, mapping)
    return found


def most_of(name: str, mapping: str, queues: QueuesSettings) -> int:
    """Return the maximum quota of a queue: its own, and what it may borrow of its cohort."""
    queue = queues.cluster_queues[name]
    own = queue.nominal_quota.get(mapping, 0)
    if queue.cohort is None:
        return own
    others = sum(
        other.nominal_quota.get(mapping, 0)
        for key, other in queues.cluster_queues.items()
        if key != name and (other.cluster, other.cohort) == (queue.cluster, queue.cohort)
    )
    return own + min(others, queue.borrowing_limit.get(mapping, others))
