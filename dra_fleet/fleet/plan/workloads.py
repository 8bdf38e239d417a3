"""Workloads: Jobs whose pods hold claims, with what they need to land on the pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dra_fleet import clouds, drivers
from dra_fleet.core.findings.errors import under
from dra_fleet.fleet.plan.claims import missing_classes, serving
from dra_fleet.fleet.plan.queues import quota_of
from dra_fleet.kubernetes.minors import is_on, kubernetes_facts
from dra_fleet.kubernetes.scheduling.taints import Toleration, tolerations_for
from dra_fleet.model.plan import WorkloadPlan
from dra_fleet.model.workloads import DEFAULT_IMAGE, DemandSettings, WorkloadSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.fleet.settings import FleetSettings
    from dra_fleet.model.plan import ComputeDomainPlan, PoolPlan, ReleasePlan
    from dra_fleet.model.workloads import TolerationSettings


def check_references(
    settings: FleetSettings, there: Mapping[str, frozenset[str]], findings: Findings
) -> None:
    """Refuse workloads and demand that name a cluster or a claim that does not exist, or that cannot meet."""
    workloads = cast("Mapping[str, DemandSettings]", settings.workloads)
    for name in sorted(settings.demand.keys() & workloads.keys()):
        if isinstance(workloads[name], WorkloadSettings):
            findings.error("demand", name, what="is also the name of a workload", got=name)
    for name, workload in sorted(workloads.items()):
        at = settings.place(name)
        if workload.cluster not in settings.clusters:
            findings.unknown(
                *at,
                "cluster",
                what="is not a cluster of this stack",
                got=workload.cluster,
                known=list(settings.clusters),
            )
        if (
            isinstance(workload, WorkloadSettings)
            and workload.image == DEFAULT_IMAGE
            and settings.environment != "development"
        ):
            what = f"{DEFAULT_IMAGE}, the default, does nothing, and its pods hold devices; name your image"
            findings.doubt(*at, "image", what=what)
        for resource in workload.limits if isinstance(workload, WorkloadSettings) else ():
            if "/" in resource:
                what = "is not proved: pods wait if no node has it; use a claim for devices of DRA drivers"
                findings.doubt(*at, "limits", resource, what=what)
        if workload.claim not in settings.claims:
            findings.unknown(
                *at,
                "claim",
                what="is not a claim of this stack",
                got=workload.claim,
                known=list(settings.claims),
            )
        if workload.cluster in settings.clusters and workload.claim in settings.claims:
            _check_meeting(at, workload, settings, there[workload.cluster], findings)


def _check_meeting(
    at: tuple[str, ...],
    workload: DemandSettings,
    settings: FleetSettings,
    there: frozenset[str],
    findings: Findings,
) -> None:
    missing = missing_classes(settings.claims[workload.claim], there)
    reported = [name for name in missing if name in settings.classes]
    if reported:
        findings.error(
            *at,
            "cluster",
            what=f"lacks the driver behind {', '.join(reported)}, which claim {workload.claim} requests",
            got=workload.cluster,
            fix="run the workload on a cluster with that driver, or install it there",
            follows=(
                f"{under('clusters', workload.cluster, 'drivers')}.",
                *(f"{under('classes', name)}." for name in reported),
            ),
        )


def check_gangs(cluster: str, minor: str, settings: FleetSettings, findings: Findings) -> None:
    """Refuse gangs on a cluster that does not have or does not turn on Kubernetes' own gang scheduling."""
    gangs = kubernetes_facts().gang(minor)
    cloud = clouds.named(settings.clusters[cluster].cloud)
    on = cloud.feature_gates(settings.clusters[cluster])
    off = [gate for gate in (gangs.gates if gangs else ()) if not is_on(gate, minor) and gate not in on]
    gates = " and ".join(off)
    for name, workload in sorted(settings.workloads.items()):
        if workload.cluster != cluster or workload.gang is None or (gangs and not off):
            continue
        if gangs is None:
            first = kubernetes_facts().gangs[0].minor
            what, fix = f"requires Kubernetes {first} or later; cluster {cluster} runs {minor}", "use a queue"
        elif cloud.makes_nodes:
            what = f"requires feature gate {gates}, which dra-fleet does not turn on in {cloud.title}"
            fix = "use a queue, or an existing cluster that has the gate on"
        else:
            what = (
                f"requires feature gate {gates} and --runtime-config={gangs.api}=true on the API "
                f"server; cluster {cluster} does not have the gate on by default"
            )
            fix = f"turn it on there and write featureGates: [{', '.join(off)}] below clusters.{cluster}"
        findings.error(*settings.place(name), "gang", what=what, got=workload.gang, fix=fix)


def plan_workloads(
    cluster: str,
    settings: FleetSettings,
    pools: Sequence[PoolPlan],
    releases: Sequence[ReleasePlan],
    *,
    domains: Sequence[ComputeDomainPlan],
    findings: Findings,
) -> tuple[WorkloadPlan, ...]:
    """Return the workloads of one cluster in the order of their names."""
    tainted = tolerations_for(taint for pool in pools for taint in pool.taints)
    return tuple(
        _plan_workload(
            name,
            workload,
            settings,
            pools,
            releases,
            tainted=tainted,
            quota=quota_of(name, settings, domains, findings),
        )
        for name, workload in sorted(settings.workloads.items())
        if workload.cluster == cluster and workload.claim in settings.claims
    )


def _plan_workload(
    name: str,
    workload: DemandSettings,
    settings: FleetSettings,
    pools: Sequence[PoolPlan],
    releases: Sequence[ReleasePlan],
    *,
    tainted: tuple[Toleration, ...],
    quota: Mapping[str, int],
) -> WorkloadPlan:
    claim = settings.claims[workload.claim]
    return WorkloadPlan(
        name=name,
        namespace=settings.namespace,
        template=None if claim.shared else workload.claim,
        claim=workload.claim if claim.shared else None,
        copies=workload.copies,
        runs=workload if isinstance(workload, WorkloadSettings) else None,
        node_selector=_node_selector(workload, pools),
        tolerations=tainted if workload.tolerations is None else _tolerations(workload.tolerations),
        cpu=workload.cpu,
        memory=workload.memory,
        accept=dict(sorted(workload.accept.items())),
        compute_domain=workload.compute_domain,
        queue=workload.queue,
        quota=quota,
        gang=(workload.min_count or workload.copies) if workload.gang else 0,
        after=serving(claim, settings, releases),
    )


def _node_selector(workload: DemandSettings, pools: Sequence[PoolPlan]) -> dict[str, str]:
    """Return the node labels that a workload requests and that its drivers need."""
    chosen = dict(workload.node_selector)
    for driver in drivers.known():
        chosen |= driver.node_labels(workload, pools)
    return dict(sorted(chosen.items()))


def _tolerations(given: Sequence[TolerationSettings]) -> tuple[Toleration, ...]:
    return tuple(
        Toleration(key=item.key or "", operator=item.operator, value=item.value, effect=item.effect)
        for item in given
    )
