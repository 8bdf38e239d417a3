"""What DRANET will publish on a node of a pool: with AWS's build EFA network cards, with Google's the others.

The open one publishes every network interface of a node but its uplink: what they are, only stack files tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.dranet.devices import GOOGLE_PLACES, PLACES, efa_devices, google_devices
from dra_fleet.drivers.dranet.machines import google_cards, traits
from dra_fleet.model.nodes import GIVE_SLICES, Published

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.plan import PoolPlan

_AWS_BUILD: Final = "aws-dranet"


def is_aws_build(version: ChartVersion) -> bool:
    """Whether a chart's DRANET leaves all out but the EFA cards of AWS's machines."""
    return version.chart == _AWS_BUILD


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
    if driver.is_managed and (google := google_cards(pool.machine)) is not None:
        cards = google_devices(google, roots=())
        return Published(
            devices=tuple(known_device(name, device, GOOGLE_PLACES) for device in cards),
            told=frozenset({name}),
        )
    # Cards of other machines are none of AWS's, and the driver that publishes them has the same name.
    told = frozenset({name}) if traits(pool.machine).network_cards is not None else frozenset[str]()
    if driver.is_assumed or driver.is_managed or not is_aws_build(driver.version):
        reason = f"what driver {name} publishes cannot be predicted; {GIVE_SLICES}"
        return Published(unpredictable={name: reason}, told=told)
    devices = efa_devices(cards=pool.network_cards, roots=())
    return Published(devices=tuple(known_device(name, device, PLACES) for device in devices), told=told)
