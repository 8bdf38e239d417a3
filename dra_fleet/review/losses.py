"""Running claims that lose their devices by the engine's steps, and the owner of each resource.

Exactly, where the running pods are known; else as far as the stack's own declarations report.

A pod loses its devices when its node is deleted, or the pod with its workload, claim, namespace or cluster.
It keeps them when a driver is updated, a DeviceClass or a ResourceClaimTemplate changes or is deleted:
https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from dra_fleet.policy.reading.clouds import CLUSTERS, OWN_CLUSTERS, all_resources
from dra_fleet.policy.reading.partitions import POOL_TYPES
from dra_fleet.review.model import LostPod

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.clouds.resources import CloudResources
    from dra_fleet.model.plan import FleetPlan, WorkloadPlan
    from dra_fleet.review.events import EngineStep
    from dra_fleet.review.model import Kind
    from dra_fleet.review.running import Running, RunningPod, Was


_PARTS: Mapping[str, Kind] = {
    "kubernetes:helm.sh/v3:Release": "driver",
    "kubernetes:resource.k8s.io/v1:DeviceClass": "class",
    "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate": "template",
    "kubernetes:resource.k8s.io/v1:ResourceClaim": "claim",
    "kubernetes:batch/v1:Job": "workload",
    "kubernetes:core/v1:Namespace": "namespace",
}
"""Kinds of resources in a cluster of the stack."""


class Owner(NamedTuple):
    """Owner of a resource. `cluster` is empty for a resource of no cluster."""

    kind: Kind
    cluster: str
    name: str


class Owners:
    """Looks owners up by the chain of parents."""

    def __init__(self, steps: Sequence[EngineStep]) -> None:
        self._steps = {step.urn: step for step in steps}
        self._known: dict[str, Owner] = {}

    def of(self, step: EngineStep) -> Owner:
        """Return the owner of a step's resource."""
        if step.urn not in self._known:
            self._known[step.urn] = self._find(step)
        return self._known[step.urn]

    def _find(self, step: EngineStep) -> Owner:
        platform = next((item for item in self._chain(step) if OWN_CLUSTERS.fullmatch(item.type)), None)
        if platform is None:
            kind = "credential" if step.type.startswith("pulumi:providers:") else "other"
            return Owner(kind, "", step.name)
        return _part(step, platform)

    def _chain(self, step: EngineStep) -> list[EngineStep]:
        found: list[EngineStep] = []
        urn = step.urn
        while urn in self._steps and len(found) < len(self._steps):
            found.append(self._steps[urn])
            urn = self._steps[urn].parent
        return found


def _part(step: EngineStep, platform: EngineStep) -> Owner:
    cluster = platform.name
    name = step.name.removeprefix(f"{cluster}-")
    if step is platform or CLUSTERS.fullmatch(step.type):
        return Owner("cluster", cluster, cluster)
    if any(name == each.system_pool and _is_pool_of(each, step.type) for each in all_resources()):
        return Owner("other", cluster, "node pool of system pods")
    if POOL_TYPES.fullmatch(step.type):
        return Owner("pool", cluster, name)
    other = "credential" if step.type.startswith("pulumi:providers:") else "other"
    return Owner(_PARTS.get(step.type, other), cluster, name)


def _is_pool_of(resources: CloudResources, pool_type: str) -> bool:
    return any(form.types.fullmatch(pool_type) for form in resources.pools)


ENDING = ("replace", "delete")


class Loss(Struct, frozen=True, kw_only=True):
    """Loss by one change. `claims` None: unknown number."""

    claims: int | None = 0
    workloads: tuple[str, ...] = ()
    pods: tuple[LostPod, ...] = ()


NOTHING = Loss()


class Losses:
    """Answers for one review.

    Args:
        plan: The stack as it will be; None where its file is wrong.
        was: As it was.
        running: The running pods, where the clusters were asked.
    """

    def __init__(self, plan: FleetPlan | None, was: Was, running: Running | None) -> None:
        self._was = was
        self._running = running
        self._workloads: dict[tuple[str, str], WorkloadPlan] = {}
        for known in (plan, was.plan):
            for cluster in known.clusters if known else ():
                self._workloads.update({(cluster.name, item.name): item for item in cluster.workloads})

    def of(self, owner: Owner, action: str) -> Loss:
        """Return the loss when an owner's resources are replaced or deleted; none for other actions."""
        if action not in ENDING or owner.kind not in ("cluster", "pool", "workload", "claim", "namespace"):
            return NOTHING
        if self._running is not None and owner.cluster in self._running.clusters:
            return self._exactly(owner)
        return self._declared(owner)

    def _exactly(self, owner: Owner) -> Loss:
        asked = self._running.clusters[owner.cluster] if self._running else None
        names = {"pool": asked.pools, "workload": asked.workloads}.get(owner.kind) if asked else None
        if names is not None and owner.name not in names:
            return Loss(claims=None, workloads=(owner.name,) if owner.kind == "workload" else ())
        found = tuple(self._pods(owner))
        return Loss(
            claims=self.claims(found),
            workloads=tuple(dict.fromkeys(pod.workload for pod in found)),
            pods=found,
        )

    def claims(self, pods: tuple[LostPod, ...]) -> int:
        """Return the number of the pods' claims: one each, but one for all that share a claim."""
        own = [pod for pod in pods if not self._is_shared(pod.cluster, pod.workload)]
        shared = {
            (pod.cluster, self._workloads[pod.cluster, pod.workload].claim)
            for pod in pods
            if self._is_shared(pod.cluster, pod.workload)
        }
        return len(own) + len(shared)

    def _is_shared(self, cluster: str, workload: str) -> bool:
        known = self._workloads.get((cluster, workload))
        return known is not None and known.claim is not None

    def _pods(self, owner: Owner) -> Iterator[LostPod]:
        asked = self._running.clusters[owner.cluster] if self._running else None
        if asked is None:
            return
        pools = asked.pool_of()
        for name, workload in asked.workloads.items():
            for pod in workload.pods:
                if pod.devices and self._is_hit(owner, name, pod, pools):
                    yield LostPod(
                        cluster=owner.cluster,
                        namespace=self._namespace(owner.cluster, name),
                        name=pod.name,
                        workload=name,
                        node=pod.node or "",
                        devices=tuple(device.device for device in pod.devices),
                    )
        for pod in asked.others or ():
            hit = {
                "cluster": True,
                "pool": pools.get(pod.node) == owner.name,
                "namespace": pod.namespace == owner.name,
            }
            if hit.get(owner.kind, False):
                yield LostPod(
                    cluster=owner.cluster,
                    namespace=pod.namespace,
                    name=pod.name,
                    workload=pod.owner,
                    node=pod.node,
                    devices=pod.devices,
                )

    def _is_hit(self, owner: Owner, workload: str, pod: RunningPod, pools: Mapping[str, str]) -> bool:
        match owner.kind:
            case "cluster":
                return True
            case "pool":
                return pools.get(pod.node or "") == owner.name
            case "workload":
                return workload == owner.name
            case "namespace":
                return self._namespace(owner.cluster, workload) == owner.name
            case _:
                known = self._workloads.get((owner.cluster, workload))
                return known is not None and known.claim == owner.name

    def _namespace(self, cluster: str, workload: str) -> str:
        known = self._workloads.get((cluster, workload))
        if known is not None:
            return known.namespace
        was = self._was.clusters.get(cluster)
        return was.namespaces.get(workload, "") if was else ""

    def _declared(self, owner: Owner) -> Loss:
        was = self._was.clusters.get(owner.cluster)
        if was is None:
            return Loss(claims=None)
        if owner.kind == "pool":
            return self._declared_on_pool(owner, was.workloads)
        hit = {name: copies for name, copies in was.workloads.items() if self._is_declared_hit(owner, name)}
        claims = sum(self._count(owner.cluster, name, copies) for name, copies in hit.items())
        return Loss(claims=claims, workloads=tuple(hit))

    def _count(self, cluster: str, workload: str, copies: int) -> int:
        return 1 if self._is_shared(cluster, workload) else copies

    def _is_declared_hit(self, owner: Owner, workload: str) -> bool:
        if owner.kind == "cluster":
            return True
        if owner.kind == "workload":
            return workload == owner.name
        known = self._workloads.get((owner.cluster, workload))
        if known is None:
            return owner.kind == "namespace"
        return owner.name == (known.namespace if owner.kind == "namespace" else known.claim)

    def _declared_on_pool(self, owner: Owner, copies: Mapping[str, int]) -> Loss:
        """Exact only where the proof says that a workload can be on this pool and on no other."""
        if self._was.proof is None:
            return Loss(claims=None)
        sure, workloads, doubt = 0, list[str](), False
        for item in self._was.proof.workloads:
            possible = (
                [fit.pool for fit in item.pools if fit.at_max != 0] if item.cluster == owner.cluster else []
            )
            if owner.name in possible:
                workloads.append(item.name)
                doubt = doubt or len(possible) > 1
                sure += self._count(owner.cluster, item.name, copies.get(item.name, item.copies))
        return Loss(claims=None if doubt else sure, workloads=tuple(workloads))
