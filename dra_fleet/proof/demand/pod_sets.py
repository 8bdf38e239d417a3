"""Pods that are alike: a cluster's workloads, one set each, but one for all that share a claim."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.model.nodes import NOTHING, ComputeResources
from dra_fleet.proof.demand.asks import ask_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.kubernetes.scheduling.taints import Toleration
    from dra_fleet.model.nodes import Object
    from dra_fleet.model.plan import ClusterPlan, ComputeDomainPlan, WorkloadPlan
    from dra_fleet.proof.demand.asks import ClaimAsk


class PodSet(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """Copies of one pod, each with a separate claim; or all pods that share one claim, as one copy.

    Attributes:
        name: The workload, or the claim that is shared.
        claim: What each copy requests.
        copies: How many there are at the same time.
        resources: What one copy takes.
        node_selector: Labels that its node must have.
        tolerations: Taints that it bears; None for every taint.
        is_shared: Whether it stands for pods that share one claim.
        gang: Pods that the scheduler places together or not at all; 0 if it places each by itself.
    """

    name: str
    claim: ClaimAsk
    copies: int
    resources: ComputeResources
    node_selector: Mapping[str, str]
    tolerations: tuple[Toleration, ...] | None
    is_shared: bool = False
    gang: int = 0

    @property
    def needed(self) -> int:
        """The copies that must be placed: the gang, or all."""
        return self.gang or self.copies

    @cached_property
    def signature(self) -> tuple[object, ...]:
        """Equal for pod sets whose pods the scheduler cannot distinguish."""
        selector = tuple(sorted(self.node_selector.items()))
        return (repr(self.claim.body["spec"]), self.resources, selector, self.tolerations)


def pod_sets_of(
    cluster: ClusterPlan,
    workloads: Sequence[WorkloadPlan],
    asks: Mapping[str, ClaimAsk],
    classes: Mapping[str, Object],
) -> tuple[list[PodSet], dict[str, int]]:
    """Build one pod set per workload; workloads that share a claim are one, on one node."""
    domains = {domain.name: domain for domain in cluster.compute_domains}
    pod_sets: list[PodSet] = []
    of_workload: dict[str, int] = {}
    shared: dict[str, int] = {}
    gangs = kubernetes_facts().gang(cluster.kubernetes)
    for item in workloads:
        claim = claim_of(item)
        resources = ComputeResources.of(item.cpu, item.memory, 1)
        if item.claim is not None and claim in shared:
            number = shared[claim]
            before = pod_sets[number]
            pod_sets[number] = replace(
                before,
                resources=before.resources.plus(resources, item.copies),
                node_selector=_both(before.node_selector, item.node_selector),
                tolerations=tuple(one for one in before.tolerations or () if one in item.tolerations),
            )
        else:
            number = len(pod_sets)
            is_shared = item.claim is not None
            pod_sets.append(
                PodSet(
                    name=item.name,
                    claim=asks[claim]
                    if item.compute_domain is None
                    else ask_of(
                        asks[claim].name,
                        with_channel(asks[claim].body["spec"], domains[item.compute_domain]),
                        classes,
                    ),
                    copies=1 if is_shared else item.copies,
                    resources=NOTHING.plus(resources, item.copies) if is_shared else resources,
                    node_selector=item.node_selector,
                    tolerations=item.tolerations,
                    is_shared=is_shared,
                    gang=0 if is_shared or gangs is None or gangs.one_by_one else item.gang,
                )
            )
            if is_shared:
                shared[claim] = number
        of_workload[item.name] = number
    return pod_sets, of_workload


def channel_asks(cluster: ClusterPlan, classes: Mapping[str, Object]) -> dict[str, ClaimAsk]:
    """Return the channel's claim of each ComputeDomain."""
    return {
        domain.name: ask_of(domain.template, channel_spec(domain), classes)
        for domain in cluster.compute_domains
    }


def _both(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """Labels that a node needs for both; a label that would need two values is never met."""
    return {
        key: " and ".join(dict.fromkeys(found[key] for found in (one, other) if key in found))
        for key in {**one, **other}
    }


def claim_of(workload: WorkloadPlan) -> str:
    """Return the template or claim of a workload."""
    return workload.template or workload.claim or ""


# The claim of a ComputeDomain's pods for a channel, from the template that its driver creates.
#
# A node publishes one channel, so that a node takes one pod of all ComputeDomains. Whether the pods' nodes
# are on one NVLink fabric is the plan's and the scheduler's business; here they only need devices.


def channel_spec(domain: ComputeDomainPlan) -> Object:
    """Return the spec of a claim for a channel, without the configuration that names the domain."""
    return {"devices": {"requests": [_request(domain.channel_request, domain)]}}


def with_channel(spec: Object, domain: ComputeDomainPlan) -> Object:
    """Merge a claim's spec with one for a channel: a pod gets both on one node or neither."""
    devices: Object = spec.get("devices", {})
    requests: list[Object] = devices.get("requests", [])
    names = [request["name"] for request in requests]
    name = next(name for name in _names(domain.channel_request) if name not in names)
    constraints = [
        {**item, "requests": item.get("requests") or names} for item in devices.get("constraints", [])
    ]
    together = {**devices, "requests": [*requests, _request(name, domain)]}
    if constraints:
        together["constraints"] = constraints
    return {**spec, "devices": together}


def _request(name: str, domain: ComputeDomainPlan) -> Object:
    return {
        "name": name,
        "exactly": {"deviceClassName": domain.channel_class, "allocationMode": "ExactCount", "count": 1},
    }


def _names(first: str) -> tuple[str, ...]:
    """Return one name more than a claim has requests, so that one is free."""
    return (first, *(f"{first}-{number}" for number in range(33)))
