"""What the device plugin registers with the kubelet: extended resources, by MIG strategy.

Source: https://github.com/NVIDIA/k8s-device-plugin, `internal/resource` and its README on MIG strategies.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.rehearsal.drivers.plugin import environment_of

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.world.node import Host

WHOLE: Final = "nvidia.com/gpu"
UNEQUAL: Final = (
    "Failed to start plugin: invalid MIG configuration: with mig.strategy single, all GPUs of a node must "
    "have the same MIG mode, and all partitions the same profile"
)


def strategy_of(pod: Object) -> str:
    """The MIG strategy in a pod's environment."""
    return environment_of(pod["spec"]["containers"][0]).get("MIG_STRATEGY", "none")


def extended_resources(pod: Object, host: Host) -> dict[str, str]:
    """The resources and their amounts on a node where the plugin's pod runs."""
    strategy = strategy_of(pod)
    whole = sum(gpu.mig is None for gpu in parts_of(host).gpus)
    parts = partitions(host)
    if strategy == "single" and whole < len(parts_of(host).gpus):
        return {WHOLE: str(parts.total())}
    resources = {WHOLE: str(whole)}
    if strategy == "mixed":
        resources |= {f"nvidia.com/mig-{name.replace('+', '.')}": str(count) for name, count in parts.items()}
    return resources


def plugin_problem(pod: Object, host: Host) -> str | None:
    """Why the plugin's container exits; None if it runs."""
    whole = sum(gpu.mig is None for gpu in parts_of(host).gpus)
    if strategy_of(pod) != "single" or whole == len(parts_of(host).gpus):
        return None
    return UNEQUAL if whole or len(partitions(host)) != 1 else None


def partitions(host: Host) -> Counter[str]:
    """How many partitions of each profile a host has."""
    return Counter(name for gpu in parts_of(host).gpus for name, count in gpu.mig or () for _ in range(count))
