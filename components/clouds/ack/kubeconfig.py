"""The kubeconfig of an ACK cluster: its address and authority, and a login that holds no secret.

Source: https://github.com/AliyunContainerService/ack-ram-tool, website/docs/credential-plugin
"""

from __future__ import annotations

from ..kubeconfig import kubeconfig_with


def login_kubeconfig(cluster: str, cluster_id: str, region: str, endpoint: str, authority: str) -> str:
    """A kubeconfig that asks `ack-ram-tool` for a token each time.

    Args:
        cluster: the cluster's name in the stack.
        cluster_id: its id in Alibaba Cloud.
        region: its region, such as ap-southeast-1.
        endpoint: the API server's URL.
        authority: the certificate of its authority, in base64.
    """
    where = ["--cluster-id", cluster_id, "--region-id", region]
    # What it logs below errors would stand beside the credential.
    how = ["--api-version", "v1beta1", "--log-level", "error"]
    command = {
        "command": "ack-ram-tool",
        "args": ["credential-plugin", "get-token", *where, *how],
        "provideClusterInfo": False,
    }
    entry = {"server": endpoint, "certificate-authority-data": authority}
    return kubeconfig_with(command, cluster, entry)
