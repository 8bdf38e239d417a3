"""AWS's DRANET: publishes the EFA network cards of a node.

NRI and network namespaces are not simulated. Which card is near which GPU is assumed: in the machine's order.
Source: https://github.com/kubernetes-sigs/dranet, `pkg/inventory` and `pkg/driver`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from dra_fleet.drivers.efa.devices import DRIVER, efa_devices
from dra_fleet.rehearsal.drivers.efa.hardware import cards_of
from dra_fleet.rehearsal.drivers.plugin import NodePlugin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.world.node import Host


class EfaPlugin(NodePlugin):
    """Publishes a device for each EFA card."""

    command: ClassVar[str] = "/dranet"

    @property
    @override
    def driver(self) -> str:
        return DRIVER

    @override
    def devices(self, host: Host) -> list[Object]:
        near, cards = host.pcie_roots, cards_of(host)
        roots = [near[card * len(near) // cards] for card in range(cards)] if near else []
        return [device.to_object() for device in efa_devices(cards=cards, roots=roots)]

    @override
    def prepare(self, claim: Object, published: dict[str, Object], beside: Sequence[Object] = ()) -> None:
        del beside
        self.require_published(claim, published)
