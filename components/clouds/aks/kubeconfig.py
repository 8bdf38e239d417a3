"""The kubeconfig of an AKS cluster: the address and authority Azure tells, and a login that holds no secret.

Source: https://azure.github.io/kubelogin/concepts/exec-plugin.html
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, cast

import pulumi
import yaml

from ..kubeconfig import kubeconfig_with

SERVER = "6dae42f8-4368-4678-94ff-3960e28e3630"
"""The AKS application of Entra ID that tokens are for, the same in every tenant."""


def login_kubeconfig(cluster: str, encoded: str, login: str) -> str:
    """A kubeconfig that asks `kubelogin` for a token each time.

    Args:
        cluster: the cluster's name in the stack.
        encoded: the kubeconfig Azure returned, in base64. Only its server and authority are taken.
        login: how kubelogin logs in, such as `azurecli`.

    Raises:
        pulumi.RunError: it is no kubeconfig of an Entra ID cluster; its content is not shown.
    """
    entry = _cluster(cluster, encoded)
    command = {
        "command": "kubelogin",
        "args": ["get-token", "--server-id", SERVER, "--login", login],
        "provideClusterInfo": False,
    }
    told = {key: entry[key] for key in ("server", "certificate-authority-data")}
    return kubeconfig_with(command, cluster, told)


def _cluster(name: str, encoded: str) -> dict[str, Any]:
    try:
        config: Any = yaml.safe_load(base64.b64decode(encoded))
        users = [item["user"] for item in config["users"]]
        entry = cast("dict[str, Any]", config["clusters"][0]["cluster"])
    except (binascii.Error, yaml.YAMLError, UnicodeDecodeError, TypeError, KeyError, IndexError):
        raise pulumi.RunError(
            f"cluster {name}: Azure returned no kubeconfig; allowed: a kubeconfig in base64; "
            "fix: look with `az aks get-credentials --format exec`"
        ) from None
    if any("exec" not in user for user in users) or not {"server", "certificate-authority-data"} <= set(
        entry
    ):
        raise pulumi.RunError(
            f"cluster {name}: its kubeconfig holds a credential instead of a login, because local accounts "
            "are on; allowed: a cluster with Entra ID and without local accounts; "
            "fix: az aks update --enable-aad --disable-local-accounts"
        )
    return entry
