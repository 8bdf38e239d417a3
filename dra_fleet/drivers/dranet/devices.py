"""What AWS's DRANET publishes for a machine: its EFA network cards, one device each.

Pure. The simulated agent feeds it hardware, the proof feeds it plans; neither knows the other.
Source: https://github.com/kubernetes-sigs/dranet, `pkg/inventory`, and the filter of
https://github.com/aws/eks-charts, stable/aws-dranet, which leaves only EFA cards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.model.published import PCIE_ROOT, PublishedDevice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.model.published import AttributeValue

DRIVER = "dra.net"
PRODUCT = "Elastic Fabric Adapter (EFA)"
PLACES = frozenset({"dra.net/pciAddress", "dra.net/rdmaDevice", PCIE_ROOT})
"""Attributes that say where a card hangs, which nobody knows before the machine runs."""
_VENDOR = "Amazon.com, Inc."


def efa_devices(*, cards: int, roots: Sequence[str]) -> list[PublishedDevice]:
    """The devices of one node.

    Args:
        cards: how many EFA cards it has.
        roots: the PCIe root of each; empty where nobody knows.
    """
    return [_device(number, roots[number] if roots else "") for number in range(cards)]


def _device(number: int, root: str) -> PublishedDevice:
    address = f"{0x60 + number:02x}:00.0"
    attributes: dict[str, AttributeValue] = {
        "dra.net/pciAddress": f"0000:{address}",
        "dra.net/pciVendor": _VENDOR,
        "dra.net/pciDevice": PRODUCT,
        "dra.net/rdma": True,
        "dra.net/rdmaDevice": f"rdmap{number}s0",
        PCIE_ROOT: root or "unknown",
    }
    return PublishedDevice(name=f"pci-0000-{0x60 + number:02x}-00-0", attributes=attributes)
