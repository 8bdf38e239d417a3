"""The CPU driver on simulated machines."""

from typing import ClassVar, Final

from dra_fleet.drivers.described.simulation.node_side import DescribedPlugin
from dra_fleet.rehearsal.drivers.node_side import NodeSide


class CpuPlugin(DescribedPlugin):
    """Publishes the CPUs that the hardware file describes; which of them a container gets is not simulated.

    Source: https://github.com/kubernetes-sigs/dra-driver-cpu/tree/v0.2.0, `pkg/driver`.
    """

    command: ClassVar[str] = "/dracpu"
    publisher: ClassVar[str] = "dra.cpu"


class DracpuNodes(NodeSide):
    """The CPU driver on simulated machines."""

    plugins = (CpuPlugin,)


NODE_SIDE: Final = DracpuNodes()
