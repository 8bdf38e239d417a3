"""The kubeconfig of a GKE cluster: its address, and a login that holds no secret.

Source: https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl
"""

from __future__ import annotations

import pulumi

from ..kubeconfig import kubeconfig_with

PUBLIC_NAMES = ".gke.goog"
"""DNS endpoints end so; their certificate is signed by a public authority, not by the cluster's."""


def login_kubeconfig(cluster: str, host: str, authority: str) -> str:
    """A kubeconfig that asks `gke-gcloud-auth-plugin` for a token each time.

    Args:
        cluster: the cluster's name in the stack.
        host: the API server's name or address, without a scheme.
        authority: the cluster's certificate authority, in base64; not used for a DNS endpoint.

    Raises:
        pulumi.RunError: the cluster has no address that could be used.
    """
    if not host:
        raise pulumi.RunError(
            f"cluster {cluster}: Google told no address of its API server; allowed: a cluster with a DNS "
            "endpoint; fix: gcloud container clusters update --enable-dns-access"
        )
    entry = {"server": f"https://{host}"}
    if not host.partition(":")[0].endswith(PUBLIC_NAMES):
        entry["certificate-authority-data"] = authority
    command = {
        "command": "gke-gcloud-auth-plugin",
        "installHint": "Install gke-gcloud-auth-plugin: "
        "https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl#install_plugin",
        "provideClusterInfo": True,
    }
    return kubeconfig_with(command, cluster, entry)
