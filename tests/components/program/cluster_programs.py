"""Programs that many tests begin with."""

from typing import Any

import dra_fleet as dra

KUBECONFIG = "apiVersion: v1\nkind: Config\nclusters: [{name: lab}]\ncontexts: [{name: lab}]\n"
H100: dra.GpuNodePoolArgsDict = {
    "machine": "hgx-h100-8",
    "min": 1,
    "max": 1,
    "node_selector": {"example.com/pool": "h100"},
}


def lab(**more: Any) -> dra.ExistingCluster:
    """Declare an existing cluster with one node of eight H100s."""
    arguments: dict[str, Any] = {
        "kubeconfig": KUBECONFIG,
        "kubernetes_version": "1.36",
        "pools": {"h100": H100},
        **more,
    }
    return dra.ExistingCluster("lab", **arguments)


def template(cluster: dra.ExistingCluster | None = None, **more: Any) -> dra.ResourceClaimTemplate:
    """Declare a template of one whole GPU."""
    arguments: dict[str, Any] = {
        "namespace": "ml",
        "requests": {"gpu": {"device_class": "gpu.nvidia.com"}},
        **more,
    }
    return dra.ResourceClaimTemplate("single", cluster=lab() if cluster is None else cluster, **arguments)
