"""The kubeconfig of a cloud's cluster: a login that holds no secret."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def kubeconfig_with(login: Mapping[str, object], cluster: str, entry: Mapping[str, str]) -> str:
    """Return a kubeconfig that runs a command for each token.

    Args:
        login: the command and its arguments, as `exec` of a user.
        cluster: the cluster's name in the stack.
        entry: its address, and its authority unless that is public.
    """
    called = {"apiVersion": "client.authentication.k8s.io/v1beta1", "interactiveMode": "Never", **login}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": entry}],
            "users": [{"name": cluster, "user": {"exec": called}}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
            "current-context": cluster,
        },
        sort_keys=True,
    )
