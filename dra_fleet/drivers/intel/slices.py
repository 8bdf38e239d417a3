"""What Intel's driver will publish on a node of a pool: the GPUs that the stack file describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.common.told_devices import told_devices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.drivers.installed import Installed
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.nodes import Published
    from dra_fleet.model.plan import PoolPlan


def serves(machine: Machine) -> bool:
    """No machine of the catalogue has Intel GPUs."""
    del machine
    return False


def accelerators_of(machine: Machine) -> None:
    """None: no machine of the catalogue has Intel GPUs."""
    del machine


def accelerators() -> Mapping[str, int | None]:
    """None: its devices are described in the stack file."""
    return {}


def publishes(pool: PoolPlan, driver: Installed, minor: str) -> Published:
    """The GPUs that are described.

    Args:
        pool: the pool.
        driver: Intel's driver as it runs there.
        minor: the cluster's Kubernetes minor.
    """
    del minor
    return told_devices(pool, frozenset(driver.driver.publishers))
