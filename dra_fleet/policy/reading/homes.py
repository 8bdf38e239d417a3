"""Cluster of each resource and its Kubernetes version, as far as the program alone shows them.

A pool names its cluster by depending on it. A Kubernetes object belongs to the cluster that its provider's
kubeconfig is from; its own dependencies never decide. If the program does not declare that
cluster, the server of the kubeconfig identifies it. Two resources share a cluster unless proved apart.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final, Literal, cast
from urllib.parse import urlsplit

from msgspec import Struct

from dra_fleet.core.yaml_text import Unreadable, read_documents
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.clouds import FIELDS, OWN_CLUSTERS, KubernetesVersion, any_of
from dra_fleet.policy.rule import Parameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.core.declared.resources import Provider, Resource, Stack
    from dra_fleet.kubernetes.minors import FeatureGate
    from dra_fleet.policy.rule import Settings


class Reached(Struct, frozen=True, kw_only=True):
    """Cluster that a provider's settings identify.

    Attributes:
        by: the server's address; a context of a kubeconfig file that is not the program's; nothing known.
        key: what identifies the cluster: the address and the certificate authority (empty if not given), or
            the file (empty for the default one) and the context (empty for the file's current one).
    """

    by: Literal["server", "context", "unknown"]
    key: tuple[str, ...] = ()


def reached_by(resource: Resource) -> Reached:
    """Return the cluster that the provider of a resource connects to; notes no unknown value.

    https://www.pulumi.com/registry/packages/kubernetes/api-docs/provider/
    """
    if resource.provider is None:
        return Reached(by="unknown")
    reported = [resource.provider_properties.get(key) for key in ("kubeconfig", "context", "cluster")]
    kubeconfig, context, cluster = (value.peek for value in reported)
    if any(value.possible and not isinstance(value.peek, str) for value in reported):
        return Reached(by="unknown")
    chosen, named, text = str(context or ""), str(cluster or ""), str(kubeconfig or "")
    read = _read(text)
    if read is None:
        return Reached(by="context", key=(text.strip(), chosen, named))
    server = _server(read, chosen, named)
    return Reached(by="server", key=server) if server[0] else Reached(by="unknown")


_OF_CLOUDS: Final = any_of(lambda resources: [resources.clusters, resources.cluster_components])

_KUBERNETES: Final = "kubernetes:"

CLUSTER_TYPES: Final = re.compile(rf"{_OF_CLOUDS.pattern}|{OWN_CLUSTERS.pattern}")


class ClusterHome(Struct, frozen=True, kw_only=True):
    """A cluster as far as it is shown separately from others.

    Attributes:
        by: what reports it: its own resource, its server, a context of a kubeconfig, where Argo CD sends it,
            what its provider's unknown kubeconfig needs, that provider alone, or nothing.
        key: what is the same for the same cluster.
    """

    by: Literal["cluster", "server", "context", "sent", "needs", "provider", "unknown"]
    key: tuple[str, ...] = ()

    def is_other(self, other: ClusterHome) -> bool | None:
        """Return whether `other` is another cluster; None if unknown."""
        if self == other:
            return None if self.by == "unknown" else False
        if self.by != other.by or self.by in ("provider", "unknown", "context"):
            return None  # two contexts of one file may reach one cluster
        if self.by == "server":
            return _is_other_server(self.key, other.key)
        if self.by == "needs":
            stacks = all(key.startswith(_OF_STACK) for key in (*self.key, *other.key))
            return True if stacks and not {*self.key} & {*other.key} else None
        return True


def _is_other_server(first: tuple[str, ...], second: tuple[str, ...]) -> bool | None:
    """Compare addresses and certificate authorities: an address and a name may reach one server."""
    if first[1] and second[1]:
        return first[1] != second[1]
    if first[0] == second[0]:
        return False
    return True if _is_address(first[0]) is _is_address(second[0]) else None


def _is_address(server: str) -> bool:
    host = server.partition("/")[0].rpartition(":")[0].strip("[]")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


_OF_STACK: Final = "stack "
_STACK_REFERENCE: Final = "pulumi:pulumi:StackReference"

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
        """Return whether two resources may be on the same cluster; unknown counts as yes."""
        return self.of(first).is_other(self.of(second)) is not True

    def undecided(self, first: Resource, second: Resource) -> bool:
        """Return whether unknown kubeconfigs hide if two resources share a cluster; each of them is noted."""
        if self.of(first).is_other(self.of(second)) is not None:
            return False
        asked = [each.provider_properties.get("kubeconfig").unknown for each in (first, second)]
        return any(asked)

    def _home(self, resource: Resource) -> ClusterHome:
        sent = resource.get("spec", "destination") if _SENT.fullmatch(resource.type) else None
        if sent is not None and sent.get("server").peek != _HERE:
            named = tuple(str(each) for key in ("server", "name") if (each := sent.get(key).peek))
            return ClusterHome(by="sent", key=named) if named else _UNKNOWN
        provider = self._provider_of(resource)
        cluster = self._reached(resource if provider is None else self._stack.by_urn.get(provider.urn))
        if cluster is None and provider is not None:
            above = (each for each in self._stack.ancestors(resource) if CLUSTER_TYPES.fullmatch(each.type))
            cluster = next(above, None)
        if cluster is not None:
            return ClusterHome(by="cluster", key=(self._outermost(cluster),))
        if len({self._outermost(found) for found in self._clusters}) == 1:
            return ClusterHome(by="cluster", key=(self._outermost(self._clusters[0]),))
        return _UNKNOWN if provider is None else self._home_of_provider(resource, provider)

    def _provider_of(self, resource: Resource) -> Provider | None:
        """Return the provider of Kubernetes that makes an object: its own, or that of the nearest parent."""
        if not resource.type.startswith(_KUBERNETES):
            return None
        of_kubernetes = (
            each.provider
            for each in (resource, *self._stack.ancestors(resource))
            if each.provider is not None and each.type.startswith(_KUBERNETES)
        )
        return next(of_kubernetes, None)

    def _home_of_provider(self, resource: Resource, provider: Provider) -> ClusterHome:
        reached = reached_by(resource)
        if reached.by != "unknown":
            return ClusterHome(by=reached.by, key=reached.key)
        made = self._stack.by_urn.get(provider.urn)
        if made is not None and made.dependencies:
            return ClusterHome(by="needs", key=tuple(sorted(map(self._needed, made.dependencies))))
        return ClusterHome(by="provider", key=(provider.urn,))

    def _needed(self, urn: str) -> str:
        """Return what identifies a dependency: of a StackReference the stack, however many refer to it."""
        needed = self._stack.by_urn.get(urn)
        if needed is None or needed.type != _STACK_REFERENCE:
            return urn
        return f"{_OF_STACK}{needed.get('name').peek or needed.name}"

    def _outermost(self, cluster: Resource) -> str:
        """Return the cluster component around a cloud's resource: the two are one cluster."""
        above = [found for found in self._stack.ancestors(cluster) if CLUSTER_TYPES.fullmatch(found.type)]
        return above[-1].urn if above else cluster.urn

    def _reached(self, resource: Resource | None) -> Resource | None:
        """Return the first cluster on the way through a pool or a provider, parents and dependencies."""
        seen: set[str] = set()
        waiting = [] if resource is None else [resource]
        while waiting:
            current = waiting.pop(0)
            if current.urn in seen:
                continue
            seen.add(current.urn)
            if CLUSTER_TYPES.fullmatch(current.type):
                return current
            urns = [*current.dependencies]
            provider = current.provider
            if provider is not None and current.type.startswith(_KUBERNETES):
                urns = [provider.urn]
            waiting += self._stack.ancestors(current)[:1]
            waiting += [self._stack.by_urn[urn] for urn in urns if urn in self._stack.by_urn]
        return None


def _read(text: str) -> Mapping[str, object] | None:
    try:
        documents = read_documents("kubeconfig", text.encode())
    except Unreadable:
        return None
    value = documents[0].value if documents else None
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else None


def _server(kubeconfig: Mapping[str, object], context: str, cluster: str) -> tuple[str, str]:
    """Return the address that a context reaches, and its certificate authority; empty if unknown."""
    chosen = _entry(kubeconfig, "contexts", context or kubeconfig.get("current-context")).get("context")
    named = cluster or _mapping(chosen).get("cluster")
    reached = _mapping(_entry(kubeconfig, "clusters", named).get("cluster"))
    server, authority = reached.get("server"), str(reached.get("certificate-authority-data") or "")
    try:
        address = urlsplit(server.strip() if isinstance(server, str) else "")
        if not address.hostname:
            return "", ""
        return f"{address.hostname}:{address.port or 443}{address.path.rstrip('/')}", authority
    except ValueError:  # no address, such as one with a port of letters
        return "", ""


def _entry(kubeconfig: Mapping[str, object], kind: str, name: object) -> Mapping[str, object]:
    entries = kubeconfig.get(kind)
    listed = cast("list[object]", entries) if isinstance(entries, list) else []
    return next((entry for entry in map(_mapping, listed) if entry.get("name") == name), dict[str, object]())


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


KUBERNETES: Final = Parameter(
    name="kubernetes",
    schema={"type": "string", "pattern": r"^(\d+\.\d+)?$"},
    default="",
    description=f"Kubernetes version, such as {kubernetes_facts().example}, of clusters outside the program; "
    "empty for unknown.",
)


def has(gate: FeatureGate, minor: str | None) -> bool:
    """Return whether a feature gate is on by default.

    Args:
        gate: the gate.
        minor: the cluster's; one beyond all known is taken for the nearest known, and None for any of them.
    """
    known = sorted(gate.stages, key=_numbers)
    if minor is None:
        return all(gate.is_on(each) for each in known)
    nearest = [each for each in known if _numbers(each) <= _numbers(minor)]
    return gate.is_on(nearest[-1] if nearest else known[0])


def _numbers(minor: str) -> tuple[int, int]:
    return KubernetesVersion.read_known(minor).minor_number


class Minors:
    """The minors of a stack's clusters. A version that is unknown at preview is another rule's finding.

    Args:
        stack: all resources.
        settings: of a rule with the parameter `KUBERNETES`.
    """

    def __init__(self, stack: Stack, settings: Settings) -> None:
        self._stack = stack
        self._homes = Homes(stack)
        self._otherwise = settings.text(KUBERNETES.name) or None
        self._found: dict[ClusterHome, str | None] = {}

    def of(self, resource: Resource) -> str | None:
        """Return the Kubernetes version, such as 1.36, of a resource's cluster; None if unknown."""
        home = self._homes.of(resource)
        if home not in self._found:
            self._found[home] = self._said_by(home) or self._otherwise
        return self._found[home]

    def _said_by(self, home: ClusterHome) -> str | None:
        for cluster in self._stack.of(CLUSTER_TYPES):
            if self._homes.of(cluster) != home:
                continue
            for field in FIELDS:
                if field.required and field.types.fullmatch(cluster.type):
                    read = KubernetesVersion.read_any(cluster.get(*field.path).peek)
                    if read is not None:
                        return read.minor
        return None
