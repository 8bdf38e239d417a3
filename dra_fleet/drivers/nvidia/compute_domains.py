"""ComputeDomains of a cluster: what is made, and which workloads are in them.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `api/nvidia.com/resource/v1beta1` and
`cmd/compute-domain-controller`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.compute_domain_checks import (
    check_ability,
    is_multi_node,
    knows_modes,
    nvidia_release,
)
from dra_fleet.drivers.nvidia.labels import CHANNEL_CLASS, CHANNEL_REQUEST
from dra_fleet.model.plan import ComputeDomainPlan
from dra_fleet.model.specs import POOL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.nvidia.settings import ComputeDomainSettings
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.plan import PoolPlan, ReleasePlan
    from dra_fleet.model.workloads import DemandSettings


def check_compute_domains(settings: FleetSettings, findings: Findings) -> None:
    """Refuse domains of clusters that do not exist, and workloads that cannot be in the one they name."""
    for name, domain in sorted(_domains(settings).items()):
        if domain.cluster not in settings.clusters:
            findings.unknown(
                "computeDomains",
                name,
                "cluster",
                what="is not a cluster of this stack",
                got=domain.cluster,
                known=list(settings.clusters),
            )
        if domain.template is not None and domain.template in settings.claims:
            findings.error(
                "computeDomains",
                name,
                "template",
                what="is also the name of a claim of this stack, and the driver makes this template itself",
                got=domain.template,
                fix="choose another name, or remove template",
            )
    for name, workload in sorted(settings.workloads.items()):
        if workload.compute_domain is not None:
            _check_member(settings.place(name), workload, settings, findings)


def plan_compute_domains(
    cluster: str,
    settings: FleetSettings,
    pools: Sequence[PoolPlan],
    releases: Sequence[ReleasePlan],
    findings: Findings,
) -> tuple[ComputeDomainPlan, ...]:
    """Return the ComputeDomains of one cluster in the order of their names."""
    here = {name: item for name, item in sorted(_domains(settings).items()) if item.cluster == cluster}
    for name, domain in here.items():
        at = ("computeDomains", name)
        members = {
            key: item for key, item in sorted(settings.workloads.items()) if item.compute_domain == name
        }
        check_ability(at, domain, pools, releases, settings, findings=findings)
        if not members and domain.template is None:
            findings.warnings.append(
                f"cluster {cluster}: no workload is in ComputeDomain {name}; name it as a workload's "
                "computeDomain, or give it a template for pods outside this stack"
            )
        _check_one_fabric(members, pools, findings)
    release = nvidia_release(releases)
    return tuple(
        ComputeDomainPlan(
            name=name,
            driver=nvidia_facts.driver().name,
            namespace=settings.namespace,
            num_nodes=domain.num_nodes,
            allocation_mode=_mode(domain, releases),
            template=domain.template or f"{name}-channel",
            channel_class=CHANNEL_CLASS,
            channel_request=CHANNEL_REQUEST,
            external=domain.template is not None,
            after=() if release is None else (release.name,),
        )
        for name, domain in here.items()
    )


def domain_labels(workload: DemandSettings, pools: Sequence[PoolPlan]) -> dict[str, str]:
    """Return the labels of the one pool that can join a workload's ComputeDomain; none if several can."""
    reached = _reached(workload, pools) if workload.compute_domain is not None else []
    if len(reached) != 1:
        return {}
    labels = reached[0].labels
    return {POOL: labels[POOL]} if POOL in labels else dict(labels)


def _domains(settings: FleetSettings) -> Mapping[str, ComputeDomainSettings]:
    return cast("Mapping[str, ComputeDomainSettings]", settings.compute_domains)


def _check_member(
    at: tuple[str, ...], workload: DemandSettings, settings: FleetSettings, findings: Findings
) -> None:
    domain = _domains(settings).get(cast("str", workload.compute_domain))
    if domain is None:
        findings.unknown(
            *at,
            "computeDomain",
            what="is not a ComputeDomain of this stack",
            got=str(workload.compute_domain),
            known=list(_domains(settings)),
        )
    elif domain.cluster != workload.cluster:
        findings.error(
            *at,
            "computeDomain",
            what=f"is in cluster {domain.cluster}, and the workload runs on {workload.cluster}",
            got=str(workload.compute_domain),
            fix="name a ComputeDomain of the same cluster",
        )
    claim = settings.claims.get(workload.claim)
    if claim is not None and claim.shared:
        findings.error(
            *at,
            "computeDomain",
            what=f"does not go with the shared claim {workload.claim}: its pods are all on one node, which "
            "has one channel",
            got=str(workload.compute_domain),
            fix="remove shared from the claim, so that each pod gets GPUs on its node",
        )


def _mode(domain: ComputeDomainSettings, releases: Sequence[ReleasePlan]) -> Literal["Single", "All"] | None:
    """Written unless the driver's CRD lacks the field."""
    release = nvidia_release(releases)
    return None if release is not None and not knows_modes(release.version) else domain.channels


def _check_one_fabric(
    members: Mapping[str, DemandSettings], pools: Sequence[PoolPlan], findings: Findings
) -> None:
    """Pods of a domain follow the first one to its fabric, and two pools are two fabrics."""
    joining = [pool.name for pool in pools if is_multi_node(pool)]
    for name, workload in members.items():
        reached = [pool.name for pool in _reached(workload, pools)]
        at = ("workloads", name, "nodeSelector")
        if joining and not reached:
            findings.error(
                *at,
                what="leaves no pool whose NVLink reaches other machines",
                got=", ".join(f"{key}={value}" for key, value in sorted(workload.node_selector.items())),
                allowed=", ".join(joining),
                fix="remove nodeSelector",
            )
        if len(reached) > 1:
            findings.error(
                *at,
                what="leaves several pools, each with a separate NVLink fabric; all pods must fit in the "
                "pool of the first pod",
                got=", ".join(reached),
                allowed="one of them",
                fix=f"set nodeSelector: {{{POOL}: {reached[0]}}}",
            )


def _reached(workload: DemandSettings, pools: Sequence[PoolPlan]) -> list[PoolPlan]:
    """Return the pools of a multi-node fabric that can run a workload's pods."""
    return [
        pool
        for pool in pools
        if is_multi_node(pool)
        and all(pool.labels.get(key, value) == value for key, value in workload.node_selector.items())
    ]
