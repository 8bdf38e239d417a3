"""Which of the GPU Operator's programs a pod runs, told by its command."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object


class Role(Enum):
    """A program, by the name of its binary."""

    OPERATOR = "gpu-operator"
    NFD_MASTER = "nfd-master"
    NFD_WORKER = "nfd-worker"
    DRIVER = "nvidia-driver"
    TOOLKIT = "nvidia-toolkit"
    VALIDATOR = "nvidia-operator-validator"
    DEVICE_PLUGIN = "nvidia-device-plugin"
    FEATURE_DISCOVERY = "gpu-feature-discovery"
    DCGM = "nv-hostengine"
    DCGM_EXPORTER = "dcgm-exporter"
    MIG_MANAGER = "nvidia-mig-manager"


CLUSTER_WIDE: Final = (Role.OPERATOR, Role.NFD_MASTER)
"""Programs that look at all nodes, wherever they run themselves."""
GPU_CLIENTS: Final = (Role.DEVICE_PLUGIN, Role.FEATURE_DISCOVERY, Role.DCGM, Role.DCGM_EXPORTER)
"""Programs that the MIG manager stops while it changes partitions."""
_BY_NAME: Final = {role.value: role for role in Role}


def role_of(pod: Object) -> Role | None:
    """The program a pod runs; None for a pod that is no part of the operator."""
    for container in pod["spec"]["containers"]:
        for word in (*container.get("command", []), *container.get("args", [])):
            role = _BY_NAME.get(word.rpartition("/")[2])
            if role is not None:
                return role
    return None
