"""Kubeconfigs: one per component with its client certificate, and the merged one without any secret."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dra_fleet.rehearsal.simulator.controlplane.pki import Pki

CREDENTIAL_HELPER = "dra-fleet-token"
EXEC_API_VERSION = "client.authentication.k8s.io/v1beta1"


def component_kubeconfig(*, server: str, pki: Pki, user: str) -> str:
    """Return the kubeconfig of one component (secret: it contains the private key)."""
    identity = {
        "client-certificate-data": _base64(pki.certificate(user).read_bytes()),
        "client-key-data": _base64(pki.key(user).read_bytes()),
    }
    cluster = {"server": server, "certificate-authority-data": _base64(pki.ca.read_bytes())}
    return _dump({"rehearsal": cluster}, {user: identity}, {"rehearsal": ("rehearsal", user)})


def token_kubeconfig(server: str, authority: bytes, token: Path) -> str:
    """Return the kubeconfig of a program with its own token file, which it reads again after a change.

    Args:
        server: the API server's URL.
        authority: the authority's certificate as PEM.
        token: the file that holds the token.
    """
    cluster = {"server": server, "certificate-authority-data": _base64(authority)}
    return _dump(
        {"rehearsal": cluster}, {"pod": {"tokenFile": str(token)}}, {"rehearsal": ("rehearsal", "pod")}
    )


def merged_kubeconfig(servers: Mapping[str, tuple[str, bytes]]) -> str:
    """Return a kubeconfig with a context per cluster; tokens are fetched by the credential helper.

    Args:
        servers: by cluster, the API server's URL and the authority's certificate as PEM.
    """
    clusters = {
        name: {"server": server, "certificate-authority-data": _base64(ca)}
        for name, (server, ca) in servers.items()
    }
    users = {name: {"exec": _exec(name)} for name in servers}
    return _dump(clusters, users, {name: (name, name) for name in servers})


def _exec(cluster: str) -> dict[str, Any]:
    return {
        "apiVersion": EXEC_API_VERSION,
        "command": CREDENTIAL_HELPER,
        "args": [cluster],
        "interactiveMode": "Never",
        "installHint": f"{CREDENTIAL_HELPER} is in the rehearsal's bin directory: "
        'eval "$(dra-fleet rehearse env)" puts it on PATH',
    }


def _dump(
    clusters: Mapping[str, Any], users: Mapping[str, Any], contexts: Mapping[str, tuple[str, str]]
) -> str:
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster} for name, cluster in clusters.items()],
        "users": [{"name": name, "user": user} for name, user in users.items()],
        "contexts": [
            {"name": name, "context": {"cluster": cluster, "user": user}}
            for name, (cluster, user) in contexts.items()
        ],
    }
    if contexts:
        config["current-context"] = next(iter(contexts))
    return yaml.safe_dump(config, sort_keys=False)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
