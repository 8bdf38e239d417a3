"""The network cards with EFA of a machine, as the machines of clouds describe them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.dranet import DRIVER
from dra_fleet.drivers.value import MachineTraits, NetworkCards
from dra_fleet.facts.entry import Fact

if TYPE_CHECKING:
    from dra_fleet.hardware.models import Machine


class _Cards(Fact):
    """How many network cards have EFA, from card `first` on."""

    cards: int
    first: int = 0


def traits(machine: Machine) -> MachineTraits:
    """The cards of a machine; none are told where nobody knows."""
    told = machine.of_vendor(DRIVER.name, _Cards)
    return MachineTraits(network_cards=told and NetworkCards(count=told.cards, first=told.first))
