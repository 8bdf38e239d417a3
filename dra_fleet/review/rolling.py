"""Changes in place of a pool for which its cloud replaces the pool's nodes one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dra_fleet.review.events import Step

_ROLLED_BY: Mapping[str, tuple[str, ...]] = {
    # https://learn.microsoft.com/azure/aks/upgrade-aks-cluster
    "AgentPool": ("orchestratorVersion",),
    # https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
    "NodeGroup": ("launchTemplate", "version", "releaseVersion"),
    # https://cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies
    "NodePool": (
        "version",
        "nodeConfig.imageType",
        "nodeConfig.machineType",
        "nodeConfig.diskSizeGb",
        "nodeConfig.diskType",
        "nodeConfig.kubeletConfig",
        "nodeConfig.linuxNodeConfig",
    ),
}
"""By the last part of a pool's type, the inputs that its cloud changes by new nodes."""


def rolls_nodes(steps: Iterable[Step]) -> bool:
    """Whether an update of a pool replaces its nodes."""
    return any(
        path == prefix or path.startswith((f"{prefix}.", f"{prefix}["))
        for step in steps
        if step.operation == "update"
        for prefix in _ROLLED_BY.get(step.type.rpartition(":")[2], ())
        for path in step.diff
    )
