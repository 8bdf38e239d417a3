"""What node feature discovery and GPU feature discovery say of a machine.

Sources: https://github.com/kubernetes-sigs/node-feature-discovery (labels with the operator's settings),
https://github.com/NVIDIA/k8s-device-plugin, `docs/gpu-feature-discovery`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import clouds
from dra_fleet.drivers.nvidia.objects.compute_domain import CLIQUE_LABEL
from dra_fleet.rehearsal.drivers.nvidia.hardware import parts_of
from dra_fleet.rehearsal.drivers.nvidia.operator.capacity import partitions
from dra_fleet.rehearsal.drivers.nvidia.operator.labels import FOUND_BY_PCI, MIG_CAPABLE, PRODUCT

if TYPE_CHECKING:
    from dra_fleet.drivers.nvidia.facts import GpuModel
    from dra_fleet.rehearsal.world.node import Host

_PREFIX = "feature.node.kubernetes.io/"


def system_labels(host: Host) -> dict[str, str]:
    """What node feature discovery finds on its own."""
    labels = {
        f"{_PREFIX}kernel-version.full": "6.8.0-rehearsal",
        f"{_PREFIX}system-os_release.ID": "ubuntu",
        f"{_PREFIX}system-os_release.VERSION_ID": "24.04",
    }
    return {**labels, FOUND_BY_PCI: "true"} if parts_of(host).gpus else labels


def gpu_labels(host: Host, strategy: str) -> dict[str, str]:
    """What GPU feature discovery finds with a driver: nothing on a node without one.

    Args:
        host: the machine.
        strategy: of MIG: none, single or mixed.
    """
    found = parts_of(host)
    if not found.gpus or found.nvidia is None:
        return {}
    model = found.gpus[0].model
    major, _, minor = model.compute_capability.partition(".")
    product = (model.product_name or f"NVIDIA {model.name}").replace(" ", "-")
    version = found.nvidia.driver_version.split(".")
    cuda = found.nvidia.cuda_version.split(".")
    labels = {
        PRODUCT: product,
        "nvidia.com/gpu.count": str(len(found.gpus)),
        "nvidia.com/gpu.memory": str(_memory(model)),
        "nvidia.com/gpu.family": model.architecture.lower().replace(" ", "-"),
        "nvidia.com/gpu.compute.major": major,
        "nvidia.com/gpu.compute.minor": minor or "0",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/cuda.driver-version.full": found.nvidia.driver_version,
        "nvidia.com/cuda.driver-version.major": version[0],
        "nvidia.com/cuda.runtime-version.major": cuda[0],
        "nvidia.com/cuda.runtime-version.minor": cuda[1] if len(cuda) > 1 else "0",
        "nvidia.com/mig.strategy": strategy,
        MIG_CAPABLE: str(model.mig is not None).lower(),
    }
    if found.clique is not None:
        labels[CLIQUE_LABEL] = found.clique
    if is_vgpu(model):
        labels["nvidia.com/vgpu.present"] = "true"
    return labels | _partition_labels(host, strategy, product)


def is_vgpu(model: GpuModel) -> bool:
    """Whether a model is a slice of a GPU that a hypervisor gives to a guest."""
    machines = clouds.machines().values()
    return any(machine.gpu == model.name and machine.gpu_fraction is not None for machine in machines)


def _memory(model: GpuModel) -> int:
    return model.memory_mib if model.memory_mib is not None else model.nominal_gb * 1024


def _partition_labels(host: Host, strategy: str, product: str) -> dict[str, str]:
    parts = partitions(host)
    mig = parts_of(host).gpus[0].model.mig
    if mig is None or strategy == "none" or all(gpu.mig is None for gpu in parts_of(host).gpus):
        return {}
    if strategy == "mixed":
        return {f"nvidia.com/mig-{name.replace('+', '.')}.count": str(count) for name, count in parts.items()}
    if len(parts) != 1 or any(gpu.mig is None for gpu in parts_of(host).gpus):
        return {
            PRODUCT: f"{product}-MIG-INVALID",
            "nvidia.com/gpu.count": "0",
            "nvidia.com/gpu.replicas": "0",
        }
    name = next(iter(parts))
    profile = mig.profile(name)
    labels = {PRODUCT: f"{product}-MIG-{name.replace('+', '.')}", "nvidia.com/gpu.count": str(parts[name])}
    if profile is not None and profile.memory_mib is not None:
        labels["nvidia.com/gpu.memory"] = str(profile.memory_mib)
    return labels
