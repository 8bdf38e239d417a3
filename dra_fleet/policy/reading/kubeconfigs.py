"""Which cluster a provider of Kubernetes resources reaches, by its kubeconfig and context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import urlsplit

from dra_fleet.core.yaml_text import Unreadable, read_documents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.core.declared.resources import Resource


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
