"""AMD's driver on simulated machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from dra_fleet.drivers.amd.driver import amd_devices, gpus_of
from dra_fleet.drivers.described.simulation.node_side import DescribedPlugin
from dra_fleet.rehearsal.drivers.node_side import NodeSide

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.simulator.node import Host


# The kubelet plugin of AMD's driver: publishes the GPUs of a machine.
#
# Source: https://github.com/ROCm/k8s-gpu-dra-driver, `cmd/gpu-kubeletplugin` and `helm-charts-k8s/templates`.

_KERNEL: Final = "/sys/module/amdgpu"


def kernel_driver_problem(container: Object, host: Host) -> str | None:
    """Return the message that the init container repeats on a machine without AMD GPUs."""
    words = " ".join([*container.get("command", []), *container.get("args", [])])
    has_gpus = host.machine is not None and gpus_of(host.machine) is not None
    return "amdgpu driver is not loaded" if _KERNEL in words and not has_gpus else None


class AmdPlugin(DescribedPlugin):
    """Publishes whole GPUs."""

    command: ClassVar[str] = "gpu-kubeletplugin"
    publisher: ClassVar[str] = "gpu.amd.com"

    @override
    def devices(self, host: Host) -> list[Object]:
        found = gpus_of(host.machine) if host.machine is not None else None
        return [device.to_object() for device in amd_devices(found)] if found is not None else []


class AmdNodes(NodeSide):
    """AMD's driver on simulated machines."""

    plugins = (AmdPlugin,)

    @override
    def waits_for(self, container: Object, host: Host) -> str | None:
        return kernel_driver_problem(container, host)


NODE_SIDE: Final = AmdNodes()
