"""Which cluster a resource belongs to, as far as a program alone tells.

A pool names its cluster by depending on it; what lives in Kubernetes is made by a provider, which depends on
the cluster its kubeconfig comes from. Where neither tells, it is the cluster that the provider's kubeconfig
and context reach: two providers of one kubeconfig are one cluster. What is not known is unknown, not another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, cast
from urllib.parse import urlsplit

from dra_fleet.core.yaml_text import Unreadable, read_documents
from dra_fleet.policy.reading.clouds import any_of
from dra_fleet.policy.reading.versions import OWN_CLUSTERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.core.declared.resources import Provider, Resource, Stack


@dataclass(frozen=True, kw_only=True)
class Reached:
    """What a provider's settings tell of its cluster.

    Attributes:
        by: the server's address; a context of a kubeconfig file that is not the program's; nothing known.
        key: what is the same for one cluster: the address, or the file (empty for the one that clients take
            by themselves) and the context (empty for the file's current one).
    """

    by: Literal["server", "context", "unknown"]
    key: tuple[str, ...] = ()


def reached_by(resource: Resource) -> Reached:
    """What the provider of a resource reaches; asking notes nothing.

    https://www.pulumi.com/registry/packages/kubernetes/api-docs/provider/
    """
    if resource.provider is None:
        return Reached(by="unknown")
    told = [resource.provider_properties.get(key) for key in ("kubeconfig", "context", "cluster")]
    kubeconfig, context, cluster = (value.peek for value in told)
    if any(value.possible and not isinstance(value.peek, str) for value in told):
        return Reached(by="unknown")
    chosen, named, text = str(context or ""), str(cluster or ""), str(kubeconfig or "")
    read = _read(text)
    if read is None:
        return Reached(by="context", key=(text.strip(), chosen, named))
    server = _server(read, chosen, named)
    return Reached(by="server", key=(server,)) if server else Reached(by="unknown")


_OF_CLOUDS: Final = any_of(lambda resources: [resources.clusters, resources.cluster_components])

CLUSTER_TYPES: Final = re.compile(rf"{_OF_CLOUDS.pattern}|{OWN_CLUSTERS.pattern}")


@dataclass(frozen=True, kw_only=True)
class ClusterHome:
    """A cluster as far as it is told apart from others.

    Attributes:
        by: what tells it: its own resource, its server, a context of a kubeconfig, where Argo CD sends it,
            what its provider's unknown kubeconfig needs, that provider alone, or nothing.
        key: what is the same for the same cluster.
    """

    by: Literal["cluster", "server", "context", "sent", "needs", "provider", "unknown"]
    key: tuple[str, ...] = ()

    def is_other(self, other: ClusterHome) -> bool | None:
        """Whether another is another cluster; None if nothing tells."""
        if self == other:
            return None if self.by == "unknown" else False
        if self.by != other.by or self.by in ("provider", "unknown"):
            return None
        if self.by == "context":  # of the same file, each by its name
            return True if self.key[0] == other.key[0] and self.key[1] and other.key[1] else None
        return None if self.by == "needs" and {*self.key} & {*other.key} else True


_UNKNOWN: Final = ClusterHome(by="unknown")

_SENT: Final = re.compile(r"kubernetes:argoproj\.io/v1alpha1:Application(Patch)?")

_HERE: Final = "https://kubernetes.default.svc"
"""The cluster of Argo CD: https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/."""


class Homes:
    """The clusters of a stack and what belongs to each."""

    def __init__(self, stack: Stack) -> None:
        """Find the clusters."""
        self._stack = stack
        self._clusters = stack.of(CLUSTER_TYPES)
        self._found: dict[str, ClusterHome] = {}

    def of(self, resource: Resource) -> ClusterHome:
        """Its cluster; a stack with one has one home: whatever is not tied to another belongs to it."""
        if resource.urn not in self._found:
            self._found[resource.urn] = self._home(resource)
        return self._found[resource.urn]

    def together(self, first: Resource, second: Resource) -> bool:
        """Whether two resources may be on the same cluster; unknown counts as yes."""
        return self.of(first).is_other(self.of(second)) is not True

    def undecided(self, first: Resource, second: Resource) -> bool:
        """Whether unknown kubeconfigs hide if two resources share a cluster; each of them is noted."""
        if self.of(first).is_other(self.of(second)) is not None:
            return False
        asked = [each.provider_properties.get("kubeconfig").unknown for each in (first, second)]
        return any(asked)

    def _home(self, resource: Resource) -> ClusterHome:
        sent = resource.get("spec", "destination") if _SENT.fullmatch(resource.type) else None
        if sent is not None and sent.get("server").peek != _HERE:
            named = tuple(str(each) for key in ("server", "name") if (each := sent.get(key).peek))
            return ClusterHome(by="sent", key=named) if named else _UNKNOWN
        cluster = self._reached(resource)
        if cluster is not None:
            return ClusterHome(by="cluster", key=(self._outermost(cluster),))
        if len({self._outermost(found) for found in self._clusters}) == 1:
            return ClusterHome(by="cluster", key=(self._outermost(self._clusters[0]),))
        provider = resource.provider
        if provider is None or not resource.type.startswith("kubernetes:"):
            return _UNKNOWN
        return self._home_of_provider(resource, provider)

    def _home_of_provider(self, resource: Resource, provider: Provider) -> ClusterHome:
        reached = reached_by(resource)
        if reached.by != "unknown":
            return ClusterHome(by=reached.by, key=reached.key)
        made = self._stack.by_urn.get(provider.urn)
        if made is not None and made.dependencies:
            return ClusterHome(by="needs", key=tuple(sorted(made.dependencies)))
        return ClusterHome(by="provider", key=(provider.urn,))

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


def _read(text: str) -> Mapping[str, object] | None:
    """The kubeconfig itself; None where the text names files of one."""
    try:
        documents = read_documents("kubeconfig", text.encode())
    except Unreadable:
        return None
    value = documents[0].value if documents else None
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else None


def _server(kubeconfig: Mapping[str, object], context: str, cluster: str) -> str:
    """The address that a context reaches, without what does not matter; empty if nothing tells."""
    chosen = _entry(kubeconfig, "contexts", context or kubeconfig.get("current-context")).get("context")
    named = cluster or _mapping(chosen).get("cluster")
    server = _mapping(_entry(kubeconfig, "clusters", named).get("cluster")).get("server")
    try:
        address = urlsplit(server.strip() if isinstance(server, str) else "")
        return (
            f"{address.hostname}:{address.port or 443}{address.path.rstrip('/')}" if address.hostname else ""
        )
    except ValueError:  # no address, such as one with a port of letters
        return ""


def _entry(kubeconfig: Mapping[str, object], kind: str, name: object) -> Mapping[str, object]:
    entries = kubeconfig.get(kind)
    listed = cast("list[object]", entries) if isinstance(entries, list) else []
    return next((entry for entry in map(_mapping, listed) if entry.get("name") == name), dict[str, object]())


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
