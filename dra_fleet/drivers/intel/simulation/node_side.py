"""Intel's GPU driver on simulated machines."""

from typing import ClassVar, Final

from dra_fleet.drivers.described.simulation.node_side import DescribedPlugin
from dra_fleet.rehearsal.drivers.node_side import NodeSide


class IntelPlugin(DescribedPlugin):
    """Publishes the GPUs that the hardware file says of a machine.

    Source: https://github.com/intel/intel-resource-drivers-for-kubernetes, `cmd/kubelet-gpu-plugin`.
    """

    command: ClassVar[str] = "/kubelet-gpu-plugin"
    publisher: ClassVar[str] = "gpu.intel.com"


class IntelNodes(NodeSide):
    """Intel's GPU driver on simulated machines."""

    plugins = (IntelPlugin,)


NODE_SIDE: Final = IntelNodes()
