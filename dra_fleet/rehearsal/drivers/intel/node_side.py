"""Intel's GPU driver on simulated machines."""

from typing import ClassVar, Final

from typing_extensions import override

from dra_fleet.rehearsal.drivers.described.plugin import DescribedPlugin
from dra_fleet.rehearsal.drivers.node_side import NodeSide


class IntelPlugin(DescribedPlugin):
    """Publishes the GPUs that the hardware file says of a machine.

    Source: https://github.com/intel/intel-resource-drivers-for-kubernetes, `cmd/kubelet-gpu-plugin`.
    """

    command: ClassVar[str] = "/kubelet-gpu-plugin"

    @property
    @override
    def driver(self) -> str:
        return "gpu.intel.com"


NODE_SIDE: Final = NodeSide(plugins=(IntelPlugin,))
