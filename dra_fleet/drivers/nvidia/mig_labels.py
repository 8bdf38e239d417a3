"""Labels by which the MIG manager is told how to cut a node's GPUs, and tells how far it is.

Source: https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.kubernetes.scheduling.node_affinity import MissingLabel

if TYPE_CHECKING:
    from dra_fleet.kubernetes.scheduling.node_affinity import Held, Labels, RequiredNodeAffinity

CONFIG: Final = "nvidia.com/mig.config"
"""The name of a layout, which the MIG manager makes."""
STATE: Final = "nvidia.com/mig.config.state"
READY: Final = "success"
_BEFORE: Final[tuple[Held, ...]] = (MissingLabel.ABSENT, "pending", "rebooting", "failed")
"""What `STATE` is as long as there are no partitions."""


def may_start_early(labels: Labels, wanted: RequiredNodeAffinity) -> bool:
    """Whether a pod may be placed on a node before the node's MIG partitions exist.

    Args:
        labels: the node's, as far as they are known.
        wanted: what the pod demands of its node.
    """
    return any(
        wanted.matches(lambda key, held=held: held if key == STATE else labels(key)) != "no"
        for held in _BEFORE
    )
