"""DRANET, the driver for network cards: the open one, AWS's build of it for EFA cards only, and Google's.

They are one driver: all publish under one name, so that only one of them can run on a node. Google's has no
chart: GKE runs it on the pools that request it. The open one publishes every network interface of a node but
its uplink; only stack files describe these.
Source: https://github.com/kubernetes-sigs/dranet, deployments/helm/dranet, and for AWS's build
https://github.com/aws/eks-charts, stable/aws-dranet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.core.findings.errors import Refusal
from dra_fleet.drivers.base import Driver, MachineTraits, NetworkCards
from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.dranet.devices import (
    GOOGLE_PLACES,
    PCIE_ROOT,
    PLACES,
    cards_of,
    efa_devices,
    google_devices,
    is_aws_build,
)
from dra_fleet.drivers.resources import DriverResources
from dra_fleet.model.hardware import OWN
from dra_fleet.model.nodes import GIVE_SLICES, Published

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.base import Release
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ChartValues, PoolPlan


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
