"""Cluster, pool, driver, class, claim or workload of each resource of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dra_fleet.policy.reading.clouds import CLUSTERS, all_resources
from dra_fleet.policy.reading.partitions import POOL_TYPES
from dra_fleet.policy.reading.versions import OWN_CLUSTERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.resources import CloudResources
    from dra_fleet.review.events import EngineStep
    from dra_fleet.review.model import Kind

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
