"""The kubeconfig of an EKS cluster: its address and authority, and a login that holds no secret.

Source: https://docs.aws.amazon.com/eks/latest/userguide/create-kubeconfig.html
"""

from __future__ import annotations

from ..kubeconfig import kubeconfig_with


def login_kubeconfig(cluster: str, name: str, region: str, endpoint: str, authority: str) -> str:
    """A kubeconfig that asks `aws eks get-token` for a token each time.

    Args:
        cluster: the cluster's name in the stack.
        name: its name in AWS.
        region: its region, such as us-east-1.
        endpoint: the API server's URL.
        authority: the certificate of its authority, in base64.
    """
    command = {
        "command": "aws",
        "args": ["eks", "get-token", "--cluster-name", name, "--region", region, "--output", "json"],
        "provideClusterInfo": False,
    }
    entry = {"server": endpoint, "certificate-authority-data": authority}
    return kubeconfig_with(command, cluster, entry)
