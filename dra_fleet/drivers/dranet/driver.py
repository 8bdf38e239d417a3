"""DRANET, the driver for network cards, with the builds of AWS and Google and the devices they publish.

They are one driver: all publish under one name, so that only one of them can run on a node. Google's has no
chart: GKE runs it on the pools that request it. The open one publishes every network interface of a node but
its uplink; only stack files describe these.
Source: https://github.com/kubernetes-sigs/dranet, deployments/helm/dranet, and for AWS's build
https://github.com/aws/eks-charts, stable/aws-dranet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.core.facts import Fact
from dra_fleet.core.findings.errors import Refusal
from dra_fleet.drivers.base import Driver, MachineTraits, NetworkCards
from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.resources import DriverResources
from dra_fleet.model.hardware import OWN
from dra_fleet.model.nodes import GIVE_SLICES, Published
from dra_fleet.model.specs import PCIE_ROOT, PublishedDevice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.base import Release
    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ChartValues, PoolPlan
    from dra_fleet.model.specs import AttributeValue


class Dranet(Driver):
    """DRANET."""

    name = "dranet"
    publishers = {"dra.net": "/dranet"}
    intents = {"product": "pciDevice"}
    plugin_section = ""
    resources = DriverResources(known_by="machines")
    # Clouds install custom builds.
    owns_names = False
    # NRI hooks of the pod: https://github.com/kubernetes-sigs/dranet, pkg/driver/nri_hooks.go
    serves_pods = True
    takes_descriptions = True
    # https://github.com/kubernetes-sigs/dranet/blob/v1.4.0/pkg/inventory/db.go#L215
    order = "sorted"

    @override
    def conflicts(self, release: Release) -> Sequence[Refusal]:
        """Reject AWS's build on a cluster without AWS's machines."""
        machines = [pool.machine for pool in release.pools]
        if (
            not machines
            or not is_aws_build(release.version)
            or any(machine.cloud == OWN or self.traits(machine).network_cards for machine in machines)
        ):
            return ()
        return (
            Refusal(
                what="serves the EFA network cards of AWS, which no machine of this cluster has",
                fix="remove it, or use another version",
            ),
        )

    @override
    def priority_class_keys(self, values: ChartValues) -> Sequence[str]:
        return ("priorityClassName",)

    @override
    def serves(self, machine: Machine) -> bool:
        cards = self.traits(machine).network_cards
        return cards is not None and cards.count > 0

    @override
    def traits(self, machine: Machine) -> MachineTraits:
        """Return the cards with EFA of a machine; none if the catalogue does not know them."""
        cards = cards_of(machine)
        if cards is None or cards.cards is None:
            return MachineTraits()
        return MachineTraits(network_cards=NetworkCards(count=cards.cards, first=cards.first))

    @override
    def predict(self, pool: PoolPlan, installed: Installed, minor: str) -> Published:
        """Return the pool's network cards; their PCIe roots are known only where a recording is public."""
        name, cards = self.facts.driver, cards_of(pool.machine)
        if installed.is_managed and cards is not None and cards.google is not None:
            devices = google_devices(cards.google, roots=())
            return Published(
                devices=tuple(known_device(name, device, GOOGLE_PLACES) for device in devices),
                known_drivers=frozenset({name}),
            )
        # Other machines' cards are not AWS's, and the driver that publishes them has the same name.
        has_cards = self.traits(pool.machine).network_cards is not None
        known_drivers = frozenset({name}) if has_cards else frozenset[str]()
        if installed.is_assumed or installed.is_managed or not is_aws_build(installed.version):
            reason = f"what driver {name} publishes cannot be predicted; {GIVE_SLICES}"
            return Published(unpredictable={name: reason}, known_drivers=known_drivers)
        roots = [card.pcie_root for card in pool.machine.nics if card.rdma]
        is_placed = len(roots) == pool.network_cards
        devices = efa_devices(cards=pool.network_cards, roots=roots if is_placed else ())
        unknown = PLACES - {PCIE_ROOT} if is_placed else PLACES
        return Published(
            devices=tuple(known_device(name, device, unknown) for device in devices),
            known_drivers=known_drivers,
        )


DRIVER: Final = Dranet()


# Pure. The simulated agent feeds it hardware, the proof feeds it plans; neither knows the other. Source:
# https://github.com/kubernetes-sigs/dranet, `pkg/inventory`, and the filter of
# https://github.com/aws/eks-charts, stable/aws-dranet, which leaves only EFA cards. Google's build
# publishes what GKE's autoscaler predicts for an empty pool's node
# (https://pkg.go.dev/k8s.io/gke-autoscaling/cluster-autoscaler, cloudprovider/gke/dynamicresources).

NAME = "dra.net"
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
