"""Node labels that the operator sets: which nodes have GPUs, and which operands may run there.

Source: https://github.com/NVIDIA/gpu-operator, `controllers/state_manager.go`.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, Final

from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.rehearsal.drivers.plugin import environment_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import Object
    from dra_fleet.drivers.nvidia.simulation.operator.features import Policy
    from dra_fleet.rehearsal.simulator.node import Host


# Extended resources that the device plugin registers with the kubelet, by MIG strategy.
#
# Source: https://github.com/NVIDIA/k8s-device-plugin, `internal/resource` and its README on MIG strategies.

WHOLE: Final = "nvidia.com/gpu"

UNEQUAL: Final = (
    "Failed to start plugin: invalid MIG configuration: with mig.strategy single, all GPUs of a node must "
    "have the same MIG mode, and all partitions the same profile"
)

PRESENT: Final = "nvidia.com/gpu.present"

DEPLOY: Final = "nvidia.com/gpu.deploy."

MIG_MANAGER: Final = f"{DEPLOY}mig-manager"

OPERANDS: Final = f"{DEPLOY}operands"

MIG_CAPABLE: Final = "nvidia.com/mig.capable"

MIG_CONFIG: Final = "nvidia.com/mig.config"

DISABLED: Final = "all-disabled"
"""The layout without partitions."""

MIG_STATE: Final = "nvidia.com/mig.config.state"

PRODUCT: Final = "nvidia.com/gpu.product"

FOUND_BY_PCI: Final = "feature.node.kubernetes.io/pci-10de.present"

PAUSED: Final = "paused-for-mig-change"

PRE_INSTALLED: Final = "pre-installed"

_DISCOVERED: Final = (
    FOUND_BY_PCI,
    "feature.node.kubernetes.io/pci-0302_10de.present",
    "feature.node.kubernetes.io/pci-0300_10de.present",
)

_CONTAINER: Final = tuple(
    DEPLOY + name
    for name in (
        "driver",
        "gpu-feature-discovery",
        "container-toolkit",
        "device-plugin",
        "dcgm",
        "dcgm-exporter",
        "node-status-exporter",
        "operator-validator",
    )
)

_CLIENT: Final = f"{DEPLOY}client"

_NAMED_MIG_CAPABLE: Final = ("h100", "a100", "a30")


def has_gpus(labels: Mapping[str, str]) -> bool:
    """Return True if node feature discovery found a GPU of this vendor."""
    return any(labels.get(key) == "true" for key in _DISCOVERED)


def is_mig_capable(labels: Mapping[str, str]) -> bool:
    """Return True if the node's GPUs can be partitioned, as far as labels report."""
    if labels.get("nvidia.com/vgpu.host-driver-version"):
        return False
    if MIG_CAPABLE in labels:
        return labels[MIG_CAPABLE] == "true"
    product = labels.get(PRODUCT, "").lower()
    return any(name in product for name in _NAMED_MIG_CAPABLE)


def changes(labels: Mapping[str, str], policy: Policy) -> dict[str, str | None]:
    """Return the operator's changes to a node's labels; None removes one. Existing values are kept."""
    present = labels.get(PRESENT) == "true"
    discovered = has_gpus(labels)
    own = (*_CONTAINER, MIG_MANAGER, _CLIENT)
    if present and not discovered:
        return {PRESENT: "false", **{key: None for key in own if key in labels}}
    if not discovered:
        return {}
    requested: dict[str, str | None] = {} if present else {PRESENT: "true"}
    if labels.get(OPERANDS) == "false":
        return {**requested, **{key: None for key in own if key in labels}}
    deployed = [*_CONTAINER, *([_CLIENT] if policy.labels_clients else [])]
    requested |= {key: "true" for key in deployed if key not in labels}
    if is_mig_capable(labels):
        if MIG_MANAGER not in labels:
            requested[MIG_MANAGER] = "true"
        # https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/controllers/state_manager.go: no other default
        # becomes a label.
        is_default = policy.mig_manager.default_config == DISABLED
        if policy.mig_manager.enabled and not labels.get(MIG_CONFIG) and is_default:
            requested[MIG_CONFIG] = DISABLED
    return requested


def strategy_of(pod: Object) -> str:
    """Return the MIG strategy in a pod's environment."""
    return environment_of(pod["spec"]["containers"][0]).get("MIG_STRATEGY", "none")


def extended_resources(pod: Object, host: Host) -> dict[str, str]:
    """Return the resources and their amounts on a node with the plugin's pod."""
    strategy = strategy_of(pod)
    whole = sum(gpu.mig is None for gpu in parts_of(host).gpus)
    parts = partitions(host)
    if strategy == "single" and whole < len(parts_of(host).gpus):
        return {WHOLE: str(parts.total())}
    _, replicas = parts_of(host).shared or ("", 1)
    resources = {WHOLE: str(whole * replicas)}
    if strategy == "mixed":
        resources |= {f"nvidia.com/mig-{name.replace('+', '.')}": str(count) for name, count in parts.items()}
    return resources


def plugin_problem(pod: Object, host: Host) -> str | None:
    """Return why the plugin's container exits; None if it runs."""
    whole = sum(gpu.mig is None for gpu in parts_of(host).gpus)
    if strategy_of(pod) != "single" or whole == len(parts_of(host).gpus):
        return None
    return UNEQUAL if whole or len(partitions(host)) != 1 else None


def partitions(host: Host) -> Counter[str]:
    """Return the number of partitions of each profile on a host."""
    return Counter(name for gpu in parts_of(host).gpus for name, count in gpu.mig or () for _ in range(count))


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
    """Return the program that a pod runs; None for a pod of others."""
    for container in pod["spec"]["containers"]:
        for word in (*container.get("command", []), *container.get("args", [])):
            role = _BY_NAME.get(word.rpartition("/")[2])
            if role is not None:
                return role
    return None
