"""The kubeconfigs AKS hands out.

The exec form holds no secret: https://azure.github.io/kubelogin/concepts/exec-plugin.html
"""

from __future__ import annotations

import base64
from typing import Final

import yaml

SERVER_ID: Final = "6dae42f8-4368-4678-94ff-3960e28e3630"
"""The AKS server application of Entra ID, the same in every tenant."""
CLIENT_ID: Final = "80faf920-1908-4b52-b5ef-a8e7bedfc67a"
TENANT: Final = "00000000-0000-0000-0000-000000000001"


def exec_kubeconfig(group: str, cluster: str, server: str, authority: bytes) -> str:
    """The user's kubeconfig whose tokens come from `kubelogin`."""
    user = f"clusterUser_{group}_{cluster}"
    words = ["get-token", "--environment", "AzurePublicCloud", "--server-id", SERVER_ID, "--client-id"]
    words += [CLIENT_ID, "--tenant-id", TENANT, "--login", "devicecode"]
    login = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "kubelogin",
        "args": words,
        "env": None,
        "installHint": "kubelogin is not installed: https://aka.ms/aks/kubelogin",
        "provideClusterInfo": False,
    }
    certificate = base64.b64encode(authority).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": cluster, "cluster": {"server": server, "certificate-authority-data": certificate}}
        ],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": user}}],
        "current-context": cluster,
        "users": [{"name": user, "user": {"exec": login}}],
    }
    return yaml.safe_dump(config, sort_keys=False)
