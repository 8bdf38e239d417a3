"""Devices that the clouds' builds of DRANET publish for a machine: one per network card.

Pure. The simulated agent feeds it hardware, the proof feeds it plans; neither knows the other. Source:
https://github.com/kubernetes-sigs/dranet, `pkg/inventory`, and the filter of
https://github.com/aws/eks-charts, stable/aws-dranet, which leaves only EFA cards. Google's build publishes
what GKE's autoscaler predicts for an empty pool's node
(https://pkg.go.dev/k8s.io/gke-autoscaling/cluster-autoscaler, cloudprovider/gke/dynamicresources).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.core.facts import Fact
from dra_fleet.model.specs import PCIE_ROOT, PublishedDevice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.specs import AttributeValue

DRIVER = "dra.net"
_VENDOR: Final = "dranet"
"""The key of machines' rows."""
_AWS_BUILD: Final = "aws-dranet"
PRODUCT = "Elastic Fabric Adapter (EFA)"
PLACES = frozenset({"dra.net/pciAddress", "dra.net/rdmaDevice", PCIE_ROOT})
"""Attributes that say where a card hangs, which is unknown before the machine runs."""
_AWS: Final = "Amazon.com, Inc."
_LATE = (
    "dra.net/ipv4",
    "dra.net/ipv6",
    "dra.net/mac",
    "dra.net/pciAddress",
    "dra.net/pciDevice",
    "dra.net/pciSubsystem",
    "gce.dra.net/block",
    "gce.dra.net/host",
    "gce.dra.net/networkName",
    "gce.dra.net/subBlock",
)
GOOGLE_PLACES = frozenset({*_LATE, "dra.net/numaNode", PCIE_ROOT})
"""Attributes of Google's cards that are unknown before the machine runs, with addresses and networks."""


class GoogleCards(Fact):
    """The cards that Google's build publishes: `plain` ones and those with RDMA, and their frames' size."""

    plain: int
    rdma: int
    mtu: int | None = None


class Cards(Fact):
    """A machine's network cards: how many have EFA, from card `first` on; or Google's."""

    cards: int | None = None
    first: int = 0
    google: GoogleCards | None = None


def cards_of(machine: Machine) -> Cards | None:
    """Return the network cards of a machine; None if the catalogue does not know them."""
    return machine.of_vendor(_VENDOR, Cards)


def is_aws_build(version: ChartVersion) -> bool:
    """Return whether a chart's DRANET publishes only the EFA cards of AWS's machines."""
    return version.chart == _AWS_BUILD


def efa_devices(*, cards: int, roots: Sequence[str]) -> list[PublishedDevice]:
    """Return the devices of one node.

    Args:
        cards: how many EFA cards it has.
        roots: the PCIe root of each; empty if it is unknown.
    """
    return [_device(number, roots[number] if roots else "") for number in range(cards)]


def _device(number: int, root: str) -> PublishedDevice:
    address = f"{0x60 + number:02x}:00.0"
    attributes: dict[str, AttributeValue] = {
        "dra.net/pciAddress": f"0000:{address}",
        "dra.net/pciVendor": _AWS,
        "dra.net/pciDevice": PRODUCT,
        "dra.net/rdma": True,
        "dra.net/rdmaDevice": f"rdmap{number}s0",
        PCIE_ROOT: root or "unknown",
    }
    return PublishedDevice(name=f"pci-0000-{0x60 + number:02x}-00-0", attributes=attributes)


def google_devices(cards: GoogleCards, roots: Sequence[str]) -> list[PublishedDevice]:
    """Return the devices of one node with Google's build, without its uplink.

    Args:
        cards: what the machine has.
        roots: the PCIe root of each RDMA card; empty if it is unknown.
    """
    plain = [_google_device(index, f"eth{index + 1}", "", cards) for index in range(cards.plain)]
    rdma = [
        _google_device(cards.plain + index, f"gpu{index}rdma0", roots[index] if roots else "unknown", cards)
        for index in range(cards.rdma)
    ]
    return [*plain, *rdma]


def _google_device(number: int, interface: str, root: str, cards: GoogleCards) -> PublishedDevice:
    address = f"{0x40 + number:02x}-00-0"
    attributes: dict[str, AttributeValue] = {
        **dict.fromkeys(_LATE, "unknown"),
        "dra.net/numaNode": 0,
        "dra.net/ifName": interface,
        "dra.net/encapsulation": "ether",
        "dra.net/state": "up",
        "dra.net/type": "device",
        "dra.net/sriov": False,
        "dra.net/virtual": False,
        "dra.net/pciVendor": "Mellanox Technologies" if root else "Google, Inc.",
        "dra.net/rdma": bool(root),
        PCIE_ROOT: root or "unknown",
    }
    if cards.mtu is not None:
        attributes["dra.net/mtu"] = cards.mtu
    return PublishedDevice(name=f"pci-0000-{address}", attributes=attributes)
