"""The network cards of a machine that the clouds' builds publish, as the machines of clouds describe them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.dranet import DRIVER
from dra_fleet.drivers.value import MachineTraits, NetworkCards
from dra_fleet.facts.entry import Fact

if TYPE_CHECKING:
    from dra_fleet.hardware.models import Machine


class GoogleCards(Fact):
    """The cards that Google's build publishes: `plain` ones and those with RDMA, and their frames' size."""

    plain: int
    rdma: int
    mtu: int | None = None


class _Cards(Fact):
    """How many network cards have EFA, from card `first` on; or Google's."""

    cards: int | None = None
    first: int = 0
    google: GoogleCards | None = None


def traits(machine: Machine) -> MachineTraits:
    """The cards with EFA of a machine; none are told where nobody knows."""
    told = machine.of_vendor(DRIVER.name, _Cards)
    if told is None or told.cards is None:
        return MachineTraits()
    return MachineTraits(network_cards=NetworkCards(count=told.cards, first=told.first))


def google_cards(machine: Machine) -> GoogleCards | None:
    """The cards of a machine of Google's; None where nobody knows."""
    told = machine.of_vendor(DRIVER.name, _Cards)
    return None if told is None else told.google
