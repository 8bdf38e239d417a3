"""Node labels that the operator sets: which nodes have GPUs, and which operands may run there.

Source: https://github.com/NVIDIA/gpu-operator, `controllers/state_manager.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.drivers.nvidia.simulation.operator.policy import Policy

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
    """Whether node feature discovery found a GPU of this maker."""
    return any(labels.get(key) == "true" for key in _DISCOVERED)


def is_mig_capable(labels: Mapping[str, str]) -> bool:
    """Whether the node's GPUs can be partitioned, as far as labels tell."""
    if labels.get("nvidia.com/vgpu.host-driver-version"):
        return False
    if MIG_CAPABLE in labels:
        return labels[MIG_CAPABLE] == "true"
    product = labels.get(PRODUCT, "").lower()
    return any(name in product for name in _NAMED_MIG_CAPABLE)


def changes(labels: Mapping[str, str], policy: Policy) -> dict[str, str | None]:
    """What the operator changes in a node's labels; None removes one. Values that are there are honoured."""
    present = labels.get(PRESENT) == "true"
    discovered = has_gpus(labels)
    ours = (*_CONTAINER, MIG_MANAGER, _CLIENT)
    if present and not discovered:
        return {PRESENT: "false", **{key: None for key in ours if key in labels}}
    if not discovered:
        return {}
    wanted: dict[str, str | None] = {} if present else {PRESENT: "true"}
    if labels.get(OPERANDS) == "false":
        return {**wanted, **{key: None for key in ours if key in labels}}
    deployed = [*_CONTAINER, *([_CLIENT] if policy.labels_clients else [])]
    wanted |= {key: "true" for key in deployed if key not in labels}
    if is_mig_capable(labels):
        if MIG_MANAGER not in labels:
            wanted[MIG_MANAGER] = "true"
        # https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/controllers/state_manager.go: no other default
        # becomes a label.
        is_default = policy.mig_manager.default_config == DISABLED
        if policy.mig_manager.enabled and not labels.get(MIG_CONFIG) and is_default:
            wanted[MIG_CONFIG] = DISABLED
    return wanted
