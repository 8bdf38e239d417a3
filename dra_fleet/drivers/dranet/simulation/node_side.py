"""DRANET on simulated machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final, cast

from pydantic import Field
from typing_extensions import override

from dra_fleet.drivers.described.simulation.node_side import DescribedPlugin
from dra_fleet.drivers.dranet import driver
from dra_fleet.drivers.dranet.driver import NAME as DRIVER
from dra_fleet.drivers.dranet.driver import efa_devices, google_devices
from dra_fleet.rehearsal.drivers.node_side import NodeSide
from dra_fleet.rehearsal.simulator.node import NodeHardware

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.simulator.node import Host


DRIVER_NAME: Final = "dranet"


class EfaNode(NodeHardware):
    """The fields of a machine's entry that DRANET reads. `nics`: network cards with EFA."""

    nics: Annotated[int, Field(ge=0, le=32)] = 0

    @override
    def parts(self, name: str) -> Mapping[str, object]:
        return {**super().parts(name), DRIVER_NAME: self.nics}


def cards_of(host: Host) -> int:
    """Return the number of EFA cards of a machine."""
    return cast("int", host.parts[DRIVER_NAME])


_NETWORKED = "gke.networks.io/accelerator-network-profile"
"""Label of nodes whose cards GKE has connected:
https://cloud.google.com/kubernetes-engine/docs/how-to/config-auto-net-for-accelerators
"""


class DranetPlugin(DescribedPlugin):
    """Publishes a device for each network card."""

    command: ClassVar[str] = "/dranet"
    publisher: ClassVar[str] = DRIVER

    @override
    def devices(self, host: Host) -> list[Object]:
        cards = efa_devices(cards=cards_of(host), roots=_near(host, cards_of(host)))
        known = driver.cards_of(host.machine) if host.machine and _NETWORKED in host.labels else None
        if known is not None and known.google is not None:
            cards += google_devices(known.google, _near(host, known.google.rdma))
        return [*(device.to_object() for device in cards), *super().devices(host)]


def _near(host: Host, cards: int) -> list[str]:
    """Return the PCIe root of each card, else those of the accelerators; empty if these are unknown too."""
    recorded = [card.pcie_root for card in host.machine.nics if card.rdma] if host.machine else []
    if len(recorded) == cards:
        return recorded
    near = host.pcie_roots
    return [near[card * len(near) // cards] for card in range(cards)] if near else []


class DranetNodes(NodeSide):
    """DRANET on simulated machines."""

    plugins = (DranetPlugin,)
    node_model = EfaNode


NODE_SIDE: Final = DranetNodes()
