"""Which cluster a resource belongs to, as far as a program alone tells.

A pool names its cluster by depending on it; what lives in Kubernetes is made by a provider, which depends on
the cluster its kubeconfig comes from. Where neither tells, resources of one provider share a home.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.clouds import any_of
from dra_fleet.policy.reading.versions import OWN_CLUSTERS

if TYPE_CHECKING:
    from dra_fleet.declared.resources import Resource, Stack

_OF_CLOUDS: Final = any_of(lambda resources: [resources.clusters, resources.cluster_components])
CLUSTER_TYPES: Final = re.compile(rf"{_OF_CLOUDS.pattern}|{OWN_CLUSTERS.pattern}")


class Homes:
    """The clusters of a stack and what belongs to each."""

    def __init__(self, stack: Stack) -> None:
        """Find the clusters."""
        self._stack = stack
        self._clusters = stack.of(CLUSTER_TYPES)
        self._found: dict[str, str] = {}

    def of(self, resource: Resource) -> str:
        """The URN of its cluster, else of its provider, else empty.

        A stack with one cluster has one home: whatever is not tied to another belongs to it.
        """
        if resource.urn not in self._found:
            self._found[resource.urn] = self._home(resource)
        return self._found[resource.urn]

    def together(self, first: Resource, second: Resource) -> bool:
        """Whether two resources may be on the same cluster; unknown counts as yes."""
        homes = {self.of(first), self.of(second)}
        return len(homes) == 1 or "" in homes

    def _home(self, resource: Resource) -> str:
        cluster = self._reached(resource)
        if cluster is not None:
            return self._outermost(cluster)
        if len({self._outermost(found) for found in self._clusters}) == 1:
            return self._outermost(self._clusters[0])
        if resource.partial:
            return ""  # what its provider depends on is not told
        return resource.provider.urn if resource.provider is not None else ""

    def _outermost(self, cluster: Resource) -> str:
        """A cluster component and the cloud's own resource within it are one."""
        above = [found for found in self._stack.ancestors(cluster) if CLUSTER_TYPES.fullmatch(found.type)]
        return above[-1].urn if above else cluster.urn

    def _reached(self, resource: Resource) -> Resource | None:
        """The first cluster on the way through itself, its parents, its provider and what these depend on."""
        seen: set[str] = set()
        waiting = [resource]
        while waiting:
            current = waiting.pop(0)
            if current.urn in seen:
                continue
            seen.add(current.urn)
            if CLUSTER_TYPES.fullmatch(current.type):
                return current
            urns = [*current.dependencies]
            provider = current.provider
            if provider is not None and current.type.startswith("kubernetes:"):
                urns.insert(0, provider.urn)
            waiting += self._stack.ancestors(current)[:1]
            waiting += [self._stack.by_urn[urn] for urn in urns if urn in self._stack.by_urn]
        return None
