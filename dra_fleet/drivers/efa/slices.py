"""What AWS's DRANET will publish on a node of a pool: its EFA network cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.efa.devices import PLACES, efa_devices
from dra_fleet.drivers.efa.machines import traits
from dra_fleet.model.nodes import GIVE_SLICES, Published

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.drivers.installed import Installed
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.plan import PoolPlan


def serves(machine: Machine) -> bool:
    """Whether a machine has EFA network cards."""
    cards = traits(machine).network_cards
    return cards is not None and cards.count > 0


def accelerators_of(machine: Machine) -> None:
    """Nothing: its cards come beside what the machine is chosen for."""
    del machine


def accelerators() -> Mapping[str, int | None]:
    """None: its machines are AWS's."""
    return {}


def publishes(pool: PoolPlan, driver: Installed, minor: str) -> Published:
    """The pool's network cards; where they hang in the machine is not known before it runs.

    Args:
        pool: the pool.
        driver: the driver as it runs there.
        minor: the cluster's Kubernetes minor.
    """
    del minor
    name = driver.facts.driver
    # Cards of other machines are none of AWS's, and the driver that publishes them has the same name.
    told = frozenset({name}) if traits(pool.machine).network_cards is not None else frozenset[str]()
    if driver.is_assumed:
        # Other builds of the driver publish other cards, and other networks.
        reason = f"what driver {name} publishes cannot be predicted; {GIVE_SLICES}"
        return Published(unpredictable={name: reason}, told=told)
    devices = efa_devices(cards=pool.network_cards, roots=())
    return Published(devices=tuple(known_device(name, device, PLACES) for device in devices), told=told)
