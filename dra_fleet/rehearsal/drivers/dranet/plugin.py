"""DRANET: publishes the network cards of a node, its EFA cards and those that the hardware file describes.

NRI and network namespaces are not simulated. Which card is near which GPU is assumed: in the machine's order.
Source: https://github.com/kubernetes-sigs/dranet, `pkg/inventory` and `pkg/driver`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from dra_fleet.drivers.dranet.devices import DRIVER, efa_devices
from dra_fleet.rehearsal.drivers.described.plugin import DescribedPlugin
from dra_fleet.rehearsal.drivers.dranet.hardware import cards_of

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.world.node import Host


class DranetPlugin(DescribedPlugin):
    """Publishes a device for each network card."""

    command: ClassVar[str] = "/dranet"
    publisher: ClassVar[str] = DRIVER

    @override
    def devices(self, host: Host) -> list[Object]:
        near, cards = host.pcie_roots, cards_of(host)
        roots = [near[card * len(near) // cards] for card in range(cards)] if near else []
        efa = [device.to_object() for device in efa_devices(cards=cards, roots=roots)]
        return [*efa, *super().devices(host)]
